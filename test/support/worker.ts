/** The Worker with the test graphs, for tests in Node that need them: `startServer(vars, withTestGraphs())`. */
import "./graphs.ts";
import "./mcp-graphs.ts";
import "./payment-graph.ts";
import "./streaming-graphs.ts";

export { default } from "./edge-worker.ts";
export * from "./edge-worker.ts";
