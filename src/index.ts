/** The Worker with the demo graphs: what the tests and the benchmarks run. `npm start` serves examples/demo. */
import { createWeir } from "./weir.ts";
import { agent } from "../examples/demo/src/agent.ts";
import { approval } from "../examples/demo/src/approval.ts";
import { echo } from "../examples/demo/src/echo.ts";
import { research } from "../examples/demo/src/research.ts";

export { Thread, ThreadIndex, TracePartition } from "./weir.ts";

export default createWeir({ graphs: { agent, approval, echo, research } });
