/** Replays are bounded in bytes, however large the states are. */
import { abortAllDurableObjects } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import type { ThreadRpc } from "../../../src/threads/rpc.ts";
import { readEvents } from "../../../src/threads/log/events.ts";
import { newCaller } from "../../support/caller.ts";
import { newThread, say, stream } from "../client.ts";

it("hands out a long log over a large state in small chunks, from memory and from the tables", async () => {
  const caller = await newCaller();
  const thread = await newThread(caller);
  const text = "水🌊".repeat(100_000);
  await stream(caller, thread, { assistant_id: "echo", input: say(text), stream_mode: "updates" });
  for (let i = 0; i < 8; i += 1) {
    await stream(caller, thread, { assistant_id: "echo", input: say(`${i}`), stream_mode: "updates" });
  }
  const texts: string[] = [];
  for (const round of ["memory", "tables"]) {
    if (round === "tables") await abortAllDurableObjects();
    const stub = env.THREAD.getByName(`${caller.workspaceId}:${thread}`) as unknown as ThreadRpc;
    const sizes: number[] = [];
    const chunks: Uint8Array[] = [];
    for await (const chunk of await stub.follow({ after: 0, replayOnly: true })) {
      sizes.push(chunk.byteLength);
      chunks.push(chunk);
    }
    expect(Math.max(...sizes)).toBeLessThanOrEqual(1_000_000);
    const whole = await new Blob(chunks).text();
    expect(whole.length).toBeGreaterThan(5_000_000);
    expect(whole.includes("\ufffd")).toBe(false);
    texts.push(whole);
  }
  expect(texts[0] === texts[1]).toBe(true);
  const seqs: number[] = [];
  for await (const event of readEvents(new Blob([texts[0] ?? ""]).stream())) seqs.push(event.seq);
  expect(seqs).toEqual(seqs.map((_, i) => i + 1));
});
