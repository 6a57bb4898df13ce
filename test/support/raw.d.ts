/** Files that a test imports as text. */
declare module "*?raw" {
  const text: string;
  export default text;
}

/** Vite's list of files: each path with a function that imports it. */
interface ImportMeta {
  glob(pattern: string): Record<string, () => Promise<unknown>>;
}
