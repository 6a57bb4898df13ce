/** LangGraph's store: its calls are batched when there are some. */
import { AsyncBatchedStore } from "@langchain/langgraph-checkpoint";

/** Marks the prototype, so that a second load of this module does not patch it again. */
const PATCHED = Symbol.for("weir.store_batches");

/** What LangGraph keeps private in its store. */
interface BatchedStore {
  [PATCHED]?: true;
  running: boolean;
  queue: Map<number, unknown>;
  processingTask: Promise<void> | null;
  enqueueOperation: (this: BatchedStore, operation: unknown) => Promise<unknown>;
  processBatchQueue: (this: BatchedStore) => Promise<void>;
  stop: (this: BatchedStore) => Promise<void>;
}

/**
 * Batches the calls of LangGraph's store on demand. LangGraph looks for calls in a loop of `setTimeout(0)` that lasts as long as
 * the graph, and each nested graph has another: a run that waits for its model takes CPU from all others in its isolate.
 */
export function batchOnDemand(): void {
  const type = AsyncBatchedStore.prototype as unknown as BatchedStore;
  const { enqueueOperation, processBatchQueue, stop } = type;
  if (type[PATCHED] || !enqueueOperation || !processBatchQueue) return;
  type[PATCHED] = true;
  type.processBatchQueue = function processOnce() {
    return this.queue.size > 0 ? processBatchQueue.call(runningOnce(this)) : Promise.resolve();
  };
  type.enqueueOperation = function enqueueOnDemand(operation) {
    const answer = enqueueOperation.call(this, operation);
    // A batch waits for the one before it, and `stop` for the last. After `stop` nothing is written.
    if (this.running && this.queue.size === 1)
      this.processingTask = Promise.resolve(this.processingTask).then(() => this.processBatchQueue());
    return answer;
  };
  type.stop = async function stopInLaterTurn() {
    await stop.call(this);
    // LangGraph's loop ends in a later turn of the event loop: a graph reports its end to its callbacks after the stream has failed.
    await new Promise((resolve) => setTimeout(resolve, 0));
  };
}

/** The store as the loop sees it: it runs for one turn. */
function runningOnce(store: BatchedStore): BatchedStore {
  let turns = 1;
  return Object.create(store, { running: { get: () => turns-- > 0 } }) as BatchedStore;
}
