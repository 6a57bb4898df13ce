/** The same calls of the LangGraph SDK for Python against Weir and against `langgraph dev`, with the same graphs (peers/). */
import { afterAll, beforeAll, expect, it, onTestFailed } from "vitest";
import { askDriver, Driver, printLogs } from "./support/driver.ts";
import { type Server, startPeer, startWeir } from "./support/servers.ts";

const driver = new Driver();
const cases = askDriver(["-m", "peers", "--list"]) as string[];
let servers: Server[] = [];
let failed = false;
beforeAll(async () => {
  servers = await Promise.all([startWeir(), startPeer()]);
  const [weir, peer] = servers as [Server, Server];
  await driver.run(["-m", "peers", "--weir", weir.url, "--peer", peer.url]);
}, 400_000);
afterAll(async () => {
  const [weir, peer] = servers;
  if (failed)
    printLogs({ "weir dev": weir?.readLog() ?? "", "langgraph dev": peer?.readLog() ?? "", peers: driver.log });
  await Promise.all(servers.map((server) => server.stop()));
});

it.each(cases)("%s", (name) => {
  onTestFailed(() => void (failed = true));
  expect(() => driver.demandPassed(name)).not.toThrow();
});
