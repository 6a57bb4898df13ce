/** One of the servers that test files share (shared-servers.ts). For files that neither kill it nor need other settings. */
import { inject } from "vitest";
import { CrossingsWatch, failOn } from "./edge-limits/watch.ts";
import { access, type TestServer } from "./server.ts";
import type { SharedName } from "./shared-servers.ts";

/** A workspace of this file's own on a shared server. Its webhooks and exports may go to private addresses. */
export async function sharedServer(name: SharedName = "demo"): Promise<TestServer> {
  const answer = await fetch(`${inject("sharedServers")}/${name}`);
  const url = await answer.text();
  if (!answer.ok) throw new Error(`The shared server did not start.\n${url}`);
  const watch = new CrossingsWatch(url);
  return {
    ...(await access(url)),
    startAnother: () => access(url),
    crossings: () => watch.take(),
    stop: async () => failOn(await watch.take()),
  };
}
