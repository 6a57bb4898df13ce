/**
 * A2A tasks while the server is killed: streams that are taken up again, questions that wait, receivers that are
 * notified.
 */
import { type Task, TaskState } from "@a2a-js/sdk";
import type { Client } from "@a2a-js/sdk/client";
import { afterAll, beforeAll, expect, it } from "vitest";
import { connectA2a, createMessage, joinText } from "../support/a2a-client.ts";
import { seeded } from "../support/random.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { type KillableServer, startKillable } from "../support/server.ts";
import { chooseAmount } from "../support/thorough.ts";

const KILLS = chooseAmount("KILLS", 1, 50);
const random = seeded("kills of A2A tasks");

let server: KillableServer;
let receiver: Receiver;
beforeAll(async () => {
  receiver = await startReceiver();
  server = await startKillable({ OFFLINE_MODEL_DELAY_MS: "8", ALLOW_PRIVATE_ADDRESSES: "true" });
});
afterAll(async () => {
  receiver.stop();
  await server.stop();
});

/** A task as received by a reader of its streams. */
class Reader {
  id = "";
  state = TaskState.TASK_STATE_UNSPECIFIED;
  readonly artifacts = new Map<string, string>();

  constructor(
    private readonly client: Client,
    private readonly text: string,
    readonly path: string,
  ) {}

  #push() {
    const url = receiver.url + this.path;
    return { tenant: "", id: "", taskId: "", url, token: "", authentication: undefined };
  }

  get ended(): boolean {
    return this.state === TaskState.TASK_STATE_COMPLETED;
  }

  /** Reads until the task's end or the server's death. */
  async read(): Promise<void> {
    try {
      const stream = this.id
        ? this.client.resubscribeTask({ tenant: "", id: this.id })
        : this.client.sendMessageStream(createMessage(this.text, {}, { taskPushNotificationConfig: this.#push() }));
      for await (const { payload } of stream) {
        if (payload?.$case === "task") this.#takeTask(payload.value);
        if (payload?.$case === "statusUpdate") this.state = payload.value.status?.state ?? this.state;
        if (payload?.$case !== "artifactUpdate") continue;
        const { artifact, append } = payload.value;
        const { artifactId = "", parts } = artifact ?? {};
        this.artifacts.set(artifactId, (append ? (this.artifacts.get(artifactId) ?? "") : "") + joinText(parts));
      }
    } catch {
      // The server was killed, or the task ended without a reader.
      await this.look();
    }
  }

  async look(): Promise<void> {
    try {
      if (this.id) this.#takeTask(await this.client.getTask({ tenant: "", id: this.id }));
    } catch {
      // Not up again.
    }
  }

  #takeTask({ id, status, artifacts }: Task): void {
    this.id = id;
    this.state = status?.state ?? this.state;
    this.artifacts.clear();
    for (const { artifactId, parts } of artifacts) this.artifacts.set(artifactId, joinText(parts));
  }
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const timeout = 60_000 + KILLS * 60_000;

it("streams are taken up again after kills, to the same end as without them", { timeout }, async () => {
  const listNumbers = (n: number) => Array.from({ length: n }, (_, i) => i + 1).join(" ");
  const client = await connectA2a(server, "agent");
  const readers = [200, 150, 250].map((n, i) => new Reader(client, `count to ${n}`, `/count-${i}`));
  readers.push(new Reader(await connectA2a(server, "research"), "What is a weir?", "/research"));
  let cut = 0;
  for (let kill = 0; kill < KILLS && readers.some(({ ended }) => !ended); kill++) {
    const reading = readers.filter(({ ended }) => !ended).map((reader) => reader.read());
    // The first time each message must have become a task: one that was never answered is not the server's to keep.
    await expect.poll(() => readers.every(({ id }) => id), { timeout: 20_000, interval: 10 }).toBe(true);
    await pause(random.between(20, 500));
    cut += readers.filter(({ ended }) => !ended).length;
    await server.kill();
    await Promise.all(reading);
    await server.restart();
  }
  expect(cut).toBeGreaterThan(0);
  for (const reader of readers) {
    while (!reader.ended) await reader.read();
    const seen = [...reader.artifacts];
    await reader.look();
    expect(seen).toEqual([...reader.artifacts]);
  }
  for (const [i, n] of [200, 150, 250].entries()) {
    expect([...(readers[i]?.artifacts.values() ?? [])].join("")).toContain(listNumbers(n));
  }
  for (const { path } of readers) {
    const findLastState = () => receiver.received.findLast((one) => one.path === path)?.body.task.status.state;
    await expect.poll(findLastState, { timeout: 60_000 }).toBe("TASK_STATE_COMPLETED");
  }
});

it("a question waits through a kill, and its answer goes to the same task", async () => {
  const client = await connectA2a(server, "approval");
  const asked = (await client.sendMessage(createMessage("Send an email to ada@example.com saying hello"))) as Task;
  expect(asked.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
  await server.kill();
  await server.restart();
  const answer = createMessage("approve", { taskId: asked.id, contextId: asked.contextId });
  const done = (await client.sendMessage(answer)) as Task;
  expect([done.id, done.status?.state]).toEqual([asked.id, TaskState.TASK_STATE_COMPLETED]);
});
