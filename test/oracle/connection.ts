/** A case's thread on the product: requests to it, its process, its alarms. */
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { defaultAssistantId } from "../../src/agents/assistants/defaults.ts";
import { graphs } from "../../src/deployment.ts";
import type { ThreadRpc } from "../../src/threads/rpc.ts";
import type { Caller } from "../support/caller.ts";
import { measureStored } from "../support/stored.ts";
import * as gates from "./gates.ts";
import { build, type Shape } from "./graphs.ts";
import type { Ttl } from "./model.ts";
import { limitTime, waitUntil } from "./patience.ts";

type Options = Parameters<Caller["fetch"]>[1];

export class Connection {
  threadId = "";
  /** The ids of runs by their names. */
  readonly ids = new Map<string, string>();

  constructor(
    readonly caller: Caller,
    readonly graphId: string,
    readonly shape: Shape,
    /** Answers with a 5xx. */
    readonly faults: string[] = [],
  ) {}

  async call(path: string, options: Options = {}): Promise<Response> {
    const what = `${options.method ?? (options.body === undefined ? "GET" : "POST")} ${path.replace(this.threadId, "…")}`;
    const response = await limitTime(what, this.caller.fetch(path, options));
    if (response.status >= 500) this.faults.push(`${what} answers ${response.status} ${await response.clone().text()}`);
    return response;
  }

  /** The JSON of an answer, or its status when it is an error. */
  async json<T>(path: string, options: Options = {}): Promise<T | number> {
    const response = await this.call(path, options);
    const text = await limitTime(`the body of ${path}`, response.text());
    if (!response.ok) return response.status;
    return (text.trim() === "" ? null : JSON.parse(text)) as T;
  }

  get stub() {
    return env.THREAD.getByName(`${this.caller.workspaceId}:${this.threadId}`);
  }

  get path(): string {
    return `/threads/${this.threadId}`;
  }

  async create(ttl?: Ttl): Promise<void> {
    const body = { metadata: { graph_id: this.graphId }, ttl: ttl && { strategy: ttl.strategy, ttl: ttl.ms / 60_000 } };
    const made = await this.json<{ thread_id: string }>("/threads", { body });
    if (typeof made === "number") throw new Error(`POST /threads answers ${made}`);
    this.threadId = made.thread_id;
  }

  /** The name of a graph that is not deployed means nothing. Its assistant exists. */
  get assistantId(): string {
    return Object.hasOwn(graphs, this.graphId) ? this.graphId : defaultAssistantId(this.graphId);
  }

  /** Changes what is deployed under the graph's id. */
  deploy(how: "works" | "throws" | "removed", change: Partial<Shape> = {}): void {
    Object.assign(this.shape, change);
    if (how === "removed") delete graphs[this.graphId];
    else if (how === "works") graphs[this.graphId] = build(this.shape);
    else
      graphs[this.graphId] = () => {
        throw new Error("The factory throws.");
      };
  }

  /** Resolves when a node waits at its gate. */
  async waitUntilReached(node: string, graphId = this.graphId): Promise<void> {
    await waitUntil(`the node ${node}`, () => gates.isReached(graphId, node));
  }

  /** The object's process stops. The next call starts it again. */
  async kill(): Promise<void> {
    await runInDurableObject(this.stub, (_, state) => {
      state.abort("Application called abort: the oracle stops the process.");
    }).catch(() => undefined);
  }

  /** A stop is accepted and stored, and the process stops before the run's end is: nothing after the stop is committed. */
  async stopAndDie(run: string, how: "interrupt" | "rollback"): Promise<void> {
    await runInDurableObject(this.stub, async (thread, state) => {
      const die = state.abort.bind(state);
      const stopped = (thread as unknown as ThreadRpc).cancel(run, how, false);
      const fail = () => {
        throw new Error("The process stops.");
      };
      Object.defineProperty(state.storage, "transactionSync", { value: fail });
      // A process that stops by itself would take the stop with it, which is not on the disk yet.
      Object.defineProperty(state, "abort", { value: () => undefined });
      await stopped;
      await state.storage.sync();
      die("Application called abort: the oracle stops the process.");
    }).catch(() => undefined);
  }

  /** Alarms come. One that comes early does no harm. */
  async alarms(): Promise<void> {
    for (let i = 0; i < 3; i += 1) {
      const rang = await limitTime(
        "an alarm",
        runDurableObjectAlarm(this.stub).catch(() => true),
      );
      if (!rang) return;
    }
  }

  async measureStored(): Promise<{ tables: string[]; alarm: number | null }> {
    return measureStored(this.stub);
  }
}
