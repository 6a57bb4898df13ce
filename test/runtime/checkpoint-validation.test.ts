/** LangGraph's own validation of checkpointers, on Weir's saver over the storage of Durable Objects. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import type { RunnableConfig } from "@langchain/core/runnables";
import {
  BaseCheckpointSaver,
  type CheckpointListOptions,
  type CheckpointTuple,
  emptyCheckpoint,
  uuid6,
} from "@langchain/langgraph-checkpoint";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Saver } from "../../src/runtime/saver.ts";
import { ThreadContext } from "../../src/threads/context.ts";

/**
 * A checkpoint without a parent stores every value that it is given, as with LangGraph's savers for memory, SQLite and MongoDB,
 * for which the suite leaves this case out. The case expects the values of unchanged channels to be missing.
 */
const OTHERWISE = "should only store channel_values that have changed (based on newVersions)";
const judged = new Proxy(it, {
  apply: (_it, _this, given: [string, () => Promise<void>]) => (given[0] === OTHERWISE ? it.fails : it)(...given),
});
// The suite is written for Vitest's globals.
Object.assign(globalThis, { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it: judged });
const { deltaChannelHistoryTests, specTest } = await import("@langchain/langgraph-checkpoint-validation");

/**
 * A checkpointer of many threads, as the suite requires: each call goes to the saver of its thread, which runs in the
 * thread's Durable Object. A list of all threads joins theirs.
 */
class SaverOfThreads extends BaseCheckpointSaver {
  readonly #workspace = crypto.randomUUID();
  readonly #savers = new Map<string, Saver>();

  async #on<T>({ configurable }: RunnableConfig, act: (saver: Saver) => Promise<T>): Promise<T> {
    const threadId = configurable?.thread_id as string | undefined;
    if (threadId === undefined) throw new Error("thread_id is missing.");
    return this.#at(threadId, act);
  }

  #at<T>(threadId: string, act: (saver: Saver) => Promise<T>): Promise<T> {
    const stub = env.THREAD.getByName(`${this.#workspace}:${threadId}`);
    return runInDurableObject(stub, (_instance, state) => {
      const saver = this.#savers.get(threadId) ?? new Saver(new ThreadContext(state, env).checkpoints, threadId);
      this.#savers.set(threadId, saver);
      return act(saver);
    });
  }

  override getTuple = async (config: RunnableConfig) =>
    config.configurable?.thread_id === undefined ? undefined : this.#on(config, (saver) => saver.getTuple(config));
  override put: BaseCheckpointSaver["put"] = async (config, ...rest) =>
    this.#on(config, async (saver) => {
      const put = await saver.put(config, ...rest);
      saver.check();
      return put;
    });
  override putWrites: BaseCheckpointSaver["putWrites"] = async (config, ...rest) =>
    this.#on(config, (saver) => saver.putWrites(config, ...rest));

  override async *list(config: RunnableConfig, options?: CheckpointListOptions): AsyncGenerator<CheckpointTuple> {
    const { thread_id: named } = (config.configurable ?? {}) as Record<string, string | undefined>;
    const threads = named === undefined ? [...this.#savers.keys()] : [named];
    const all: CheckpointTuple[] = [];
    for (const threadId of threads) {
      await this.#at(threadId, async (saver) => {
        for await (const tuple of saver.list(config, options)) all.push(tuple);
      });
    }
    yield* all.slice(0, options?.limit);
  }

  override async deleteThread(): Promise<void> {
    throw new Error("A thread is deleted by its owner, not through its checkpointer.");
  }
}

const suite = { checkpointerName: "Weir", createCheckpointer: () => new SaverOfThreads() };
// Without "deleteThread": the API deletes a thread with everything it has, and a graph cannot delete its own.
specTest(suite, ["getTuple", "list", "put", "putWrites"]);
deltaChannelHistoryTests(suite);

describe("the writes of a step", () => {
  const checkpoint = { ...emptyCheckpoint(), id: uuid6(0) };
  const put = async (saver: SaverOfThreads) =>
    saver.put(
      { configurable: { thread_id: "t", checkpoint_ns: "" } },
      checkpoint,
      { source: "loop", step: 0, parents: {} },
      {},
    );

  it("come in the order of paths, tasks and places, however they arrived", async () => {
    const saver = new SaverOfThreads();
    const config = await put(saver);
    await saver.putWrites(config, [["list", "second"]], "task-1", "~__pregel_pull, \u{1F600}");
    await saver.putWrites(config, [["list", "first"]], "task-2", "~__pregel_pull, \uFFFD");
    await saver.putWrites(config, [["list", "input 2"]], "task-4");
    await saver.putWrites(config, [["list", "input 1"]], "task-3");
    const tuple = await saver.getTuple(config);
    expect(tuple?.pendingWrites?.map(([, , value]) => value)).toEqual(["input 1", "input 2", "first", "second"]);
  });

  it("keep a failure beside the name of the node that failed", async () => {
    const saver = new SaverOfThreads();
    const config = await put(saver);
    const failed: [string, unknown][] = [
      ["__error__", { message: "no" }],
      ["__error_source_node__", "node"],
    ];
    await saver.putWrites(config, failed, "task-1", "~__pregel_pull, node");
    expect((await saver.getTuple(config))?.pendingWrites?.map(([, channel]) => channel)).toEqual(
      failed.map(([name]) => name),
    );
  });
});
