/** A payload's JSON keeps what a parsed value would lose: the digits of large integers. */
import { expect, it } from "vitest";
import { newCaller } from "../support/caller.ts";
import { multipart, NOON, projectId, sentRun, storedRuns } from "../support/traces.ts";

const BIG = "12345678901234567890";
const INPUTS = String.raw`{"id": ${BIG}, "text": "caf\u00e9 \ud83d\ude00 \ud83d \u0001 \"\\u00e9"}`;

it.each(["batch", "run", "multipart"])("keeps every digit of an integer that comes by %s", async (way) => {
  const caller = await newCaller();
  const run = sentRun(NOON, { inputs: "INPUTS" });
  const text = JSON.stringify(run).replace('"INPUTS"', INPUTS);
  const { inputs: _, ...light } = run as typeof run & { inputs: string };
  const bodies = {
    batch: ["/runs/batch", `{"post": [${text}]}`, "application/json"],
    run: ["/runs", text, "application/json"],
    multipart: [
      "/runs/multipart",
      multipart([
        { name: `post.${run.id}`, data: JSON.stringify(light) },
        { name: `post.${run.id}.inputs`, data: INPUTS },
      ]),
      "multipart/form-data; boundary=----LangSmithFormBoundaryabc",
    ],
  } as const;
  const [path, body, type] = bodies[way as keyof typeof bodies];
  const sent = await caller.fetch(path, { body, headers: { "content-type": type } });
  expect(sent.status).toBe(202);
  const [stored] = await storedRuns(caller);
  expect(stored?.inputs).toContain(BIG);
  // Characters are found by search, and the value is the same.
  expect(stored?.inputs).toContain("café 😀");
  expect(JSON.parse(stored?.inputs ?? "")).toEqual(JSON.parse(INPUTS));

  const session = [await projectId(caller)];
  const queried = await caller.fetch("/runs/query", { body: { session } });
  expect(await queried.text()).toContain(`"id":${BIG}`);
  const found = await caller.fetch("/runs/query", {
    body: { session, filter: `and(eq(input_key, "id"), eq(input_value, "${BIG}"))` },
  });
  expect((await found.json<{ runs: object[] }>()).runs).toHaveLength(1);
});

it("keeps every digit of an integer in extra that a patch adds to", async () => {
  const caller = await newCaller();
  const run = sentRun(NOON);
  const post = JSON.stringify({ ...run, extra: { metadata: { id: 0 } } }).replace('"id":0', `"id":${BIG}`);
  const patch = JSON.stringify({ ...run, extra: { metadata: { more: 1 } } });
  await caller.fetch("/runs/batch", { body: `{"post": [${post}]}` });
  await caller.fetch("/runs/batch", { body: `{"patch": [${patch}]}` });
  const [stored] = await storedRuns(caller);
  expect(stored?.extra).toBe(`{"metadata":{"id":${BIG},"more":1}}`);
});

it("stores a lone surrogate in names, tags and errors as one replacement character", async () => {
  const caller = await newCaller();
  await caller.fetch("/runs/batch", {
    body: { post: [sentRun(NOON, { name: "a\ud800b", tags: ["c\udc00"], error: "\ud800" })] },
  });
  const [stored] = await storedRuns(caller);
  expect(stored).toMatchObject({ name: "a\ufffdb", tags: ["c\ufffd"], error: "\ufffd" });
});
