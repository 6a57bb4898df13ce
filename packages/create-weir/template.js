/** Copies examples/starter into this package, before it is packed. */
import { cpSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";

const starter = join(import.meta.dirname, "..", "..", "examples", "starter");
const template = join(import.meta.dirname, "template");
const LOCAL = ["node_modules", ".weir", ".wrangler", ".env", ".dev.vars", "package-lock.json"].map((name) =>
  join(starter, name),
);

rmSync(template, { recursive: true, force: true });
cpSync(starter, template, { recursive: true, filter: (source) => !LOCAL.includes(source) });
// npm leaves files of this name out of packages.
renameSync(join(template, ".gitignore"), join(template, "gitignore"));
