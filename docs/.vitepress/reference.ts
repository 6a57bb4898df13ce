/** The files of the API reference: the browser build of Scalar, beside the page that starts it (docs/public/reference.html). */
import { cpSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Copies the viewer without its source maps, which are three times its size. */
export function copyViewer(outDir: string): void {
  const main = fileURLToPath(import.meta.resolve("@scalar/api-reference"));
  const wanted = (file: string) => !file.endsWith(".map") && !file.endsWith("standalone.js");
  cpSync(join(dirname(main), "browser"), join(outDir, "reference"), { recursive: true, filter: wanted });
}
