/** A workspace of the product over HTTP: what a client sends. */
import { env, runInDurableObject } from "cloudflare:test";
import type { Caller } from "../../support/caller.ts";
import type { Random } from "../../support/random.ts";
import { type MultipartPart, sendMultipart } from "../../support/traces.ts";
import type { Case } from "./dimensions.ts";
import { objectText, toText, type Value, parseValue } from "./json.ts";
import type { Feedback, Write } from "./run.ts";
import { makeKey } from "../../support/encryption.ts";

type Json = { [key: string]: Value };

const HEAVY = ["inputs", "outputs", "events", "extra", "error"];

export class Weir {
  /** Ids of projects by name. */
  readonly ids = new Map<string, string>();
  /** Whether the workspace encrypts. */
  isSealed = false;

  constructor(readonly caller: Caller) {}

  /** The answer's JSON, with exact integers. @throws Error for another status than 2xx */
  async call(path: string, options: { method?: string; body?: string | Json } = {}): Promise<Value> {
    const body = typeof options.body === "object" ? toText(options.body) : options.body;
    const answer = await this.caller.fetch(path, { ...options, body });
    const text = await answer.text();
    if (!answer.ok)
      throw new Error(
        `${options.method ?? ""} ${path} ${(body ?? "").slice(0, 300)}: ${answer.status} ${text.slice(0, 300)}`,
      );
    return text === "" ? null : parseValue(text);
  }

  async status(path: string, options: { method?: string; body?: unknown } = {}): Promise<number> {
    const answer = await this.caller.fetch(path, options);
    await answer.text();
    return answer.status;
  }

  /** The workspace encrypts with a new key from here on. */
  async replaceKey(): Promise<void> {
    await makeKey(this.caller);
    this.isSealed = true;
  }

  async expectRefusal(path: string, body: Json): Promise<void> {
    const status = await this.status(path, { body });
    if (status !== 422) throw new Error(`${path} ${JSON.stringify(body)}: ${status}, must be 422`);
  }

  async makeProject(name: string, more: Json = {}): Promise<string> {
    const { id } = (await this.call("/sessions", { body: { name, ...more } })) as { id: string };
    this.ids.set(name, id);
    return id;
  }

  id(project: string): string {
    return this.ids.get(project) ?? "";
  }

  /** Sends writes in one of the ways of clients. */
  async send(writes: readonly Write[], how: Case["ingestion"], random: Random): Promise<void> {
    const [posts, patches] = (["post", "patch"] as const).map((kind) => writes.filter((one) => one.kind === kind));
    switch (how) {
      case "batch":
        return this.#batch(writes);
      case "multipart":
        return this.#multipart([...(posts ?? []), ...(patches ?? [])]);
      case "patch first":
        await this.#batch(patches ?? []);
        return this.#batch(posts ?? []);
      case "shuffled": {
        const mixed = writes.map((write) => ({ write, at: random.next() })).sort((a, b) => a.at - b.at);
        for (let at = 0; at < mixed.length; at += 5)
          await this.#multipart(mixed.slice(at, at + 5).map(({ write }) => write));
        return;
      }
      case "single":
        for (const { kind, id, fields } of writes) {
          const path = kind === "post" ? "/api/v1/runs" : `/api/v1/runs/${id}`;
          this.#checkTaken(await this.call(path, { method: kind.toUpperCase(), body: objectText(fields) }));
        }
    }
  }

  async #batch(writes: readonly Write[]): Promise<void> {
    const toJsonList = (kind: Write["kind"]) =>
      `[${writes.flatMap((one) => (one.kind === kind ? [objectText(one.fields)] : [])).join(",")}]`;
    this.#checkTaken(
      await this.call("/api/v1/runs/batch", {
        body: objectText({ post: toJsonList("post"), patch: toJsonList("patch") }),
      }),
    );
  }

  async #multipart(writes: readonly Write[]): Promise<void> {
    const parts = writes.flatMap(({ kind, id, fields }): MultipartPart[] => {
      const light = Object.entries(fields).filter(([name]) => !HEAVY.includes(name));
      const heavy = Object.entries(fields).filter(([name]) => HEAVY.includes(name));
      return [
        { name: `${kind}.${id}`, data: objectText(Object.fromEntries(light)) },
        ...heavy.map(([name, data]) => ({ name: `${kind}.${id}.${name}`, data })),
      ];
    });
    const answer = await sendMultipart(this.caller, parts);
    const text = await answer.text();
    if (answer.status !== 202) throw new Error(`multipart: ${answer.status} ${text}`);
    this.#checkTaken(parseValue(text));
  }

  #checkTaken(answer: Value): void {
    const { rejected, errors } = answer as { rejected: number; errors: Value };
    if (rejected !== 0) throw new Error(`a write is refused: ${toText(errors)}`);
  }

  async give(project: string, { id, runId, key, score, value }: Feedback, start: string): Promise<number> {
    const body = { id, run_id: runId, key, score, value, session_id: this.id(project), start_time: start };
    return this.status("/feedback", { body: toText(body) });
  }

  /** The places of a project's partitions that D1 knows. */
  async places(project: string): Promise<{ day: string; shard: number }[]> {
    const rows = await env.DB.prepare(
      "SELECT day, shard FROM trace_partitions WHERE workspace_id = ? AND project_id = ?",
    )
      .bind(this.caller.workspaceId, this.id(project))
      .all<{ day: string; shard: number }>();
    return rows.results;
  }

  object(project: string, { day, shard }: { day: string; shard: number }) {
    const name = `${this.caller.workspaceId}/${this.id(project)}/${day}${shard === 0 ? "" : `#${shard}`}`;
    return env.TRACE_PARTITION.getByName(name);
  }

  /** Runs the alarms of a project's days, as the platform does: idle blocks are sealed, what is due is deleted. */
  async alarms(project: string): Promise<void> {
    for (const place of await this.places(project))
      await runInDurableObject(this.object(project, place), (partition) =>
        (partition as { alarm(): Promise<void> }).alarm(),
      );
  }
}
