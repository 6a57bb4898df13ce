/** The Worker within Cloudflare's limits, for tests: see docs/limits.md. */
import "./edge-limits/install.ts";
import weir, * as product from "../../examples/demo/worker.ts";
import { guardHandlers } from "./edge-limits/handlers.ts";
import { guardObject } from "./edge-limits/objects.ts";

export const Ledger = guardObject(product.Ledger);
export const Limiter = guardObject(product.Limiter);
export const Thread = guardObject(product.Thread);
export const ThreadIndex = guardObject(product.ThreadIndex);
export const TraceIndex = guardObject(product.TraceIndex);
export const TracePartition = guardObject(product.TracePartition);

export default guardHandlers(weir);
