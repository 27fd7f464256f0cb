// Dark and light: the system's choice, until there is another, which the browser remembers.

const key = 'logstow-theme';
const stored = () => {
  try {
    return localStorage.getItem(key);
  } catch {
    return null; // storage is disabled
  }
};

/** applyTheme sets the theme that was chosen. */
export function applyTheme() {
  const theme = stored();
  if (theme === 'dark' || theme === 'light') document.documentElement.dataset.theme = theme;
}

/** toggleTheme changes it. */
export function toggleTheme() {
  const now = document.documentElement.dataset.theme || (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
  const next = now === 'dark' ? 'light' : 'dark';
  document.documentElement.dataset.theme = next;
  try {
    localStorage.setItem(key, next);
  } catch {
    // It lasts until the page is closed.
  }
  return next;
}
