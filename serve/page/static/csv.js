// Charts and tables as CSV.

const formula = /^[=+\-@\t\r]/;

const cell = (value) => {
  if (value === undefined || value === null) return '';
  if (typeof value === 'number') return String(value);
  const text = formula.test(value) && !/^-?[\d.]+$/.test(value) ? `'${value}` : value; // spreadsheets would calculate it
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

/** toCSV is the text of rows, the first of which has the names of the columns. */
export const toCSV = (rows) => rows.map((row) => row.map(cell).join(',') + '\r\n').join('');

/** timeRows are the rows of series {name, points: Map}, in order of time. */
export function timeRows(series) {
  const times = [...new Set(series.flatMap((one) => [...one.points.keys()]))].sort((a, b) => a - b);
  return [['time', ...series.map((one) => one.name || 'others')], ...times.map((t) => [new Date(t).toISOString(), ...series.map((one) => one.points.get(t))])];
}

/** saveCSV has the browser save rows as a file. */
export const saveCSV = (name, rows) => saveText(`${name}.csv`, 'text/csv', toCSV(rows));

/** saveText has the browser save a text as a file. */
export function saveText(name, type, text) {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
