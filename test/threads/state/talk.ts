/** A thread of the graphs in support/delta-graphs.ts, and what is seen of it. */
import { type Caller, newCaller } from "../../support/caller.ts";
import { newThread, say } from "../client.ts";

export type Json = Record<string, unknown>;

export interface State {
  values: Json;
  next: string[];
  metadata: Json;
  interrupts: { id: string; value: unknown }[];
  checkpoint: { checkpoint_id: string };
  parent_checkpoint: { checkpoint_id: string } | null;
}

export class Talk {
  private constructor(
    readonly caller: Caller,
    readonly id: string,
    readonly graph: string,
  ) {}

  static async begin(graph: string, body: Json = {}, caller?: Caller): Promise<Talk> {
    const by = caller ?? (await newCaller());
    return new Talk(by, await newThread(by, body), graph);
  }

  async call<T = Json>(path: string, body?: unknown, method?: string): Promise<T> {
    const at = path.startsWith("/") ? path : `/threads/${this.id}${path === "" ? "" : `/${path}`}`;
    const response = await this.caller.fetch(at, { body, method });
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
    return response.status === 204 ? (undefined as T) : response.json<T>();
  }

  /** Runs to the end, and gives the run's result. */
  async wait(body: Json): Promise<Json> {
    return this.call("runs/wait", { assistant_id: this.graph, ...body });
  }

  async say(text: string, more: Json = {}): Promise<Json> {
    return this.wait({ input: say(text), ...more });
  }

  /** Runs to the end, and gives the run's id. */
  async run(body: Json): Promise<string> {
    const { run_id } = await this.call<{ run_id: string }>("runs", { assistant_id: this.graph, ...body });
    await this.call(`runs/${run_id}/join`);
    return run_id;
  }

  async state(): Promise<State> {
    return this.call<State>("state");
  }

  async history(query: Json = {}): Promise<State[]> {
    return this.call<State[]>("history", { limit: 100, ...query });
  }

  async update(values: Json, more: Json = {}): Promise<State["checkpoint"]> {
    return (await this.call<{ checkpoint: State["checkpoint"] }>("state", { values, ...more })).checkpoint;
  }

  async prune(): Promise<void> {
    await this.call("/threads/prune", { thread_ids: [this.id], strategy: "keep_latest" });
  }

  async deleteRun(runId: string): Promise<void> {
    await this.call(`runs/${runId}`, undefined, "DELETE");
  }

  /** What is said, by its state and by the thread. */
  async texts(): Promise<string[]> {
    return textsIn((await this.state()).values);
  }
}

export const textsIn = (values: unknown): string[] =>
  ((values as { messages?: { content: string }[] }).messages ?? []).map(({ content }) => content);

export const idsOf = (history: State[]): string[] => history.map(({ checkpoint }) => checkpoint.checkpoint_id);
