/**
 * `npm run oracle -- --mutations [words]`: introduces known errors into a copy of the repository and says which of them the
 * pairs find. `--peer [words]`: compares with the reference server. Words choose by name. Exit codes: 0, 1 when an error is
 * not found, 2 for wrong arguments.
 */
import { tryMutations } from "./mutate.ts";
import { compareWithPeer } from "./peer.ts";

const [mode, ...words] = process.argv.slice(2);
if (mode === "--mutations") process.exitCode = (await tryMutations(words.join(" "))) ? 0 : 1;
else if (mode === "--peer") await compareWithPeer(words.join(" "));
else {
  console.error("npm run oracle -- --mutations|--peer [words of a name]");
  process.exitCode = 2;
}
