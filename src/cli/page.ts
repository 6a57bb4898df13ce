/** The page that a deployment serves. */
import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PAGE } from "./package.ts";
import type { Project } from "./project.ts";

/**
 * The folder of the page's files: the package's, or with `http.mount_prefix` a copy in `.weir/web` that says where the API
 * is. The platform serves these files at the root, for every prefix.
 */
export function preparePage({ config, weirDir }: Project): string {
  const prefix = config.http?.mount_prefix;
  const index = join(PAGE, "index.html");
  if (!prefix || !existsSync(index)) return PAGE;
  const copy = join(weirDir, "web");
  const meta = `<meta name="weir-mount-prefix" content="${prefix}" />`;
  const text = readFileSync(index, "utf8").replace("<head>", `<head>${meta}`);
  const own = join(copy, "index.html");
  // It names the other files by their contents. wrangler watches the folder, so the same files are not written again.
  if (existsSync(own) && readFileSync(own, "utf8") === text) return copy;
  cpSync(PAGE, copy, { recursive: true });
  writeFileSync(own, text);
  return copy;
}
