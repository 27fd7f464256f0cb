// What the linter checks of the page and its tests: make test-browser.
import js from "@eslint/js";
import globals from "globals";

export default [
  { ignores: ["**/vendor/**", "**/node_modules/**"] },
  js.configs.recommended,
  { rules: { eqeqeq: "error", "no-var": "error", "prefer-const": "error", "no-eval": "error", "no-implied-eval": "error" } },
  { files: ["serve/page/static/*.js"], languageOptions: { globals: globals.browser } },
  { files: ["testdata/**/*.mjs"], languageOptions: { globals: { ...globals.node, ...globals.browser } } },
];
