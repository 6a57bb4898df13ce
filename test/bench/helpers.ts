/** The files of this folder that are no benches. */
export const HELPERS = new Set([
  "main.ts",
  "options.ts",
  "target.ts",
  "figures.ts",
  "inspector.ts",
  "least.ts",
  "helpers.ts",
]);
