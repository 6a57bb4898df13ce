/**
 * `npm run oracle [words]`: carries out programs on the reference server and on Weir, and prints what differs. Words choose by name.
 */
import { compareWithPeer } from "./peer.ts";

await compareWithPeer(process.argv.slice(2).join(" "));
