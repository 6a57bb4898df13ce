/** Limits of calls, alarms and streams, each crossed once. */
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import { newCaller } from "../support/caller.ts";
import { invoke, SUBREQUESTS } from "../support/edge-limits/invocation.ts";
import { expectCrossing, figures, resetFigures } from "../support/edge-limits/record.ts";
import { newProbe } from "./probe.ts";

const MIB = 1024 * 1024;
const RPC_LIMIT = /Serialized RPC arguments or return values are limited to 32MiB/;

test("an RPC call carries less than 32 MiB, which workerd itself enforces", async () => {
  const probe = newProbe();
  resetFigures();
  const text = "x".repeat(31 * MIB);
  expect((await probe.echo(text)).length).toBe(text.length);
  expect(figures().rpc.bytes).toBeGreaterThanOrEqual(31 * MIB);
  expect(figures().rpc.where).toMatch(/^Plain\.echo/);
  await expect(async () => await probe.echo("x".repeat(32 * MIB))).rejects.toThrow(RPC_LIMIT);
  await expect(async () => await probe.repeat("x", 32 * MIB)).rejects.toThrow(RPC_LIMIT);
});

test("an alarm that throws is a crossing", async () => {
  const probe = newProbe();
  await runInDurableObject(probe, (_probe, { storage }) => storage.setAlarm(Date.now() + 60_000));
  await runDurableObjectAlarm(probe);
  await runInDurableObject(probe, (plain, { storage }) => {
    plain.failing = true;
    return storage.setAlarm(Date.now() + 60_000);
  });
  await expect(runDurableObjectAlarm(probe)).rejects.toThrow("The alarm fails.");
  const [crossing] = expectCrossing("alarm");
  expect(crossing?.message).toMatch(/Plain\.alarm\(\) threw at retry 0 of 6: Error: The alarm fails\./);
});

test("so is one that the runtime rings, which runs it again", async () => {
  const probe = newProbe();
  await runInDurableObject(probe, (plain, { storage }) => {
    plain.failing = true;
    return storage.setAlarm(Date.now());
  });
  await expect.poll(() => expectCrossing("alarm"), { timeout: 5_000 }).toHaveLength(1);
  await runInDurableObject(probe, (plain) => void (plain.failing = false));
});

test("a chunk of a stream has 8 MiB", async () => {
  const probe = newProbe();
  resetFigures();
  const read = async (bytes: number) => (await new Response(await probe.stream(bytes)).arrayBuffer()).byteLength;
  expect(await read(8 * MIB)).toBe(8 * MIB);
  expect(figures().chunk).toEqual({ bytes: 8 * MIB, where: "Plain.stream" });
  await expect(read(8 * MIB + 1)).rejects.toThrow("disconnected prematurely");
  expect(expectCrossing("chunk")).toMatchObject([{ message: expect.stringContaining("has 8388609 bytes") }]);
});

test("an invocation makes 10,000 subrequests, calls of objects included", async () => {
  await newProbe().ask(2, SUBREQUESTS - 2);
  const message = "EdgeLimit: Too many subrequests: Plain.ask made 10001.";
  await expect(async () => await newProbe().ask(2, SUBREQUESTS - 1)).rejects.toThrow(message);
  expectCrossing("subrequests");
});

test("fetch, D1, R2, queues and Durable Objects count, in the Worker and in an object", async () => {
  await invoke("this test", async (invocation) => {
    const countSubrequests = async (work: () => Promise<unknown>) => {
      const before = invocation.subrequests;
      await work();
      return invocation.subrequests - before;
    };
    const { PROBE } = env as Env & { PROBE: DurableObjectNamespace };
    expect(await countSubrequests(() => fetch("data:,"))).toBe(1);
    expect(await countSubrequests(() => env.DB.prepare("SELECT 1").all())).toBe(1);
    expect(await countSubrequests(() => env.DB.batch([env.DB.prepare("SELECT 1"), env.DB.prepare("SELECT 2")]))).toBe(
      1,
    );
    expect(await countSubrequests(() => env.BLOBS.head("nothing"))).toBe(1);
    expect(await countSubrequests(async () => (await env.BLOBS.createMultipartUpload("upload")).abort())).toBe(2);
    expect(await countSubrequests(() => env.EXPORTS.send({}, { delaySeconds: 43_200 }))).toBe(1);
    expect(
      await countSubrequests(() =>
        (PROBE.getByName("another") as unknown as { echo(text: string): Promise<string> }).echo(""),
      ),
    ).toBe(1);
  });
});

test("a response tells the subrequests of its request", async () => {
  const caller = await newCaller();
  const answer = await caller.fetch("/threads", { body: {} });
  expect(Number(answer.headers.get("x-weir-test-subrequests"))).toBeGreaterThan(0);
});
