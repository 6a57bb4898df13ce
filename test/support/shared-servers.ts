/**
 * The servers that test files share. vitest runs this once, before the files and in a process of its own. A server starts
 * when the first file requests it, and stops after the last file.
 */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestProject } from "vitest/node";
import { localConfig } from "../../scripts/local-server.ts";
import { startServer, type TestServer, withEdgeLimits, withTestGraphs } from "./server.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Answers the address of a shared server at the path `/<name>`. */
    sharedServers: string;
  }
}

const VARS = { ALLOW_PRIVATE_ADDRESSES: "true" };

/**
 * `demo` has the graphs of examples/demo, `graphs` those that only tests deploy, too. So does `open`, which this machine calls
 * without a key: the SDK's WebSocket has no headers. The model of `delayed` waits 15 ms before each token.
 */
const START = {
  demo: () => startServer(VARS),
  delayed: () => startServer({ ...VARS, OFFLINE_MODEL_DELAY_MS: "15" }),
  graphs: () => startServer(VARS, withTestGraphs()),
  open: () => startServer({ ...VARS, AUTH: "open", OFFLINE_MODEL_DELAY_MS: "5" }, withTestGraphs()),
};
export type SharedName = keyof typeof START;

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // A server restarts when its configuration is written: they are written before two files can start servers.
  localConfig();
  withEdgeLimits();
  withTestGraphs();
  const started = new Map<SharedName, Promise<TestServer>>();
  const control = createServer((request, response) => {
    const name = request.url?.slice(1) as SharedName;
    const server = started.get(name) ?? START[name]();
    started.set(name, server);
    server.then(
      ({ url }) => response.end(url),
      (error: Error) => response.writeHead(500).end(error.stack),
    );
  });
  await new Promise<void>((resolve) => control.listen(0, "127.0.0.1", resolve));
  project.provide("sharedServers", `http://127.0.0.1:${(control.address() as AddressInfo).port}`);
  return async () => {
    control.close();
    for (const server of started.values()) await (await server).stop();
  };
}
