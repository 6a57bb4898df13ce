/** workerd ends with the process that started it, however that ends. */
import { createRequire } from "node:module";
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { PACKAGE } from "../package.ts";
import { writeWhole } from "../write-whole.ts";

/**
 * Miniflare starts this in the place of workerd. A process that is killed cannot stop its children, and workerd itself does
 * not notice. Linux kills it by `setpriv`. Elsewhere a loop beside it looks. The loop has no stream of workerd's, which would
 * otherwise stay open.
 */
const script = (workerd: string) => `#!/bin/sh
set -- '${workerd.replaceAll("'", `'\\''`)}' "$@"
if setpriv --pdeathsig KILL true 2>/dev/null; then exec setpriv --pdeathsig KILL "$@"; fi
node=$PPID
(while kill -0 $node && kill -0 $$; do sleep 1; done; kill -9 $$) </dev/null >/dev/null 2>&1 3>&- &
exec "$@"
`;

/** Has Miniflare start workerd by way of the script. */
export function useScript(weirDir: string): void {
  if (process.platform === "win32" || process.env.MINIFLARE_WORKERD_PATH) return;
  const file = join(weirDir, "workerd.sh");
  const miniflare = createRequire(createRequire(join(PACKAGE, "package.json")).resolve("miniflare"));
  const { default: workerd } = miniflare("workerd") as { default: string };
  writeWhole(file, script(workerd), 0o700);
  chmodSync(file, 0o700);
  process.env.MINIFLARE_WORKERD_PATH = file;
}
