import type { Locator, Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { sharedServer } from "../support/shared-server.ts";
import { callAs } from "../support/workspace.ts";
import {
  browserHere,
  checkEventually,
  choose,
  expectAnswer,
  findComposer,
  log,
  onStage,
  say,
  visit,
  waitUntilSettled,
} from "./page.ts";

/** The line begins at the right: its name in Latin letters is left of its first word. */
const HEBREW = "שלום Weir, מה נשמע?";
const PARAGRAPHS = `Good morning, this paragraph is the longest of the three, and is written from left to right.\n${HEBREW}\nBye.`;

/** In the page: how far the Hebrew line is from the sides of its block, and whether it is set right to left. */
const MEASURE = `(element) => {
  const words = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  while (words.nextNode() && !words.currentNode.data.includes(${JSON.stringify(HEBREW)}));
  const text = words.currentNode;
  const from = text.data.indexOf(${JSON.stringify(HEBREW)});
  const measure = (start, end) => {
    const range = document.createRange();
    range.setStart(text, from + start);
    range.setEnd(text, from + end);
    return range.getBoundingClientRect();
  };
  let block = text.parentElement;
  while (getComputedStyle(block).display === "inline") block = block.parentElement;
  const { paddingLeft, paddingRight, borderLeftWidth, borderRightWidth } = getComputedStyle(block);
  const box = block.getBoundingClientRect();
  const line = measure(0, ${HEBREW.length});
  return {
    rightToLeft: measure(0, 4).left > measure(5, 9).right - 1,
    left: line.left - box.left - parseFloat(paddingLeft) - parseFloat(borderLeftWidth),
    right: box.right - line.right - parseFloat(paddingRight) - parseFloat(borderRightWidth),
  };
}`;

interface Measured {
  rightToLeft: boolean;
  left: number;
  right: number;
}

interface Measuring {
  measure(element: unknown): Measured;
}

async function measure(text: Locator): Promise<Measured> {
  await text.page().evaluate(`window.measure = ${MEASURE}`);
  return text.first().evaluate((element) => (globalThis as unknown as Measuring).measure(element));
}

/** A paragraph is set from its own start: Hebrew from the right. It is drawn anew when the code for Markdown is there. */
async function expectParagraph(text: Locator): Promise<void> {
  await checkEventually(
    () => measure(text),
    ({ rightToLeft, right }) =>
      expect({ rightToLeft, fromRight: Math.round(right) }).toEqual({ rightToLeft: true, fromRight: 0 }),
  );
}

/** A name stays at the side of the list, and its words run from right to left. */
async function expectName(text: Locator): Promise<void> {
  await checkEventually(
    () => measure(text),
    ({ rightToLeft, left }) =>
      expect({ rightToLeft, fromLeft: Math.round(left) }).toEqual({ rightToLeft: true, fromLeft: 0 }),
  );
}

const readBidi = (field: unknown) =>
  (globalThis as unknown as { getComputedStyle(of: unknown): { unicodeBidi: string } }).getComputedStyle(field)
    .unicodeBidi;

/** What is typed is set by the first letter of each paragraph. */
const expectField = async (field: Locator) =>
  expect(await field.and(field.page().locator("input, textarea")).evaluate(readBidi)).toBe("plaintext");

const paragraphIn = (place: Locator | Page) => place.getByText(HEBREW);

describe.runIf(browserHere)("the direction of text", () => {
  const stage = onStage(() => sharedServer("delayed"));
  const call = <T>(method: string, path: string, body?: unknown) => callAs<T>(stage.server, method, path, body);

  const createThread = async (messages: object[], title = HEBREW): Promise<string> => {
    const metadata = { graph_id: "agent", title };
    const { thread_id } = await call<{ thread_id: string }>("POST", "/threads", { metadata });
    await call("POST", `/threads/${thread_id}/state`, { values: { messages }, as_node: "agent" });
    return thread_id;
  };

  it("is that of each paragraph of a question, an answer and a tool's output", async () => {
    const thread = await createThread([
      { type: "human", id: "h1", content: PARAGRAPHS },
      { type: "ai", id: "a1", content: "", tool_calls: [{ id: "c1", name: "search", args: { query: HEBREW } }] },
      { type: "tool", id: "t1", tool_call_id: "c1", content: PARAGRAPHS },
      { type: "ai", id: "a2", content: PARAGRAPHS.replaceAll("\n", "\n\n") },
    ]);
    const { page, troubles, close } = await visit(stage, { path: `/chat/${thread}` });
    const [asked, tool, answered] = [
      log(page).getByRole("article").locator("p"),
      log(page).locator('[data-part="tools"]'),
      log(page).locator('[data-part="text"]'),
    ];
    await answered.getByText(HEBREW).waitFor();
    await expectParagraph(asked.filter({ hasText: HEBREW }));
    await expectParagraph(answered.getByText(HEBREW));
    await expectName(tool.getByText(HEBREW));
    await tool.getByRole("button").click();
    await expectParagraph(tool.getByRole("region", { name: "Output" }).locator("pre"));
    // JSON is set from the left.
    const { left, rightToLeft } = await measure(tool.getByRole("region", { name: "Input" }).locator("pre"));
    expect(left).toBeGreaterThan(20);
    expect(rightToLeft).toBe(false);
    await expectField(findComposer(page));
    expect(troubles).toEqual([]);
    await close();
  });

  it("is that of the words of a thread's title in each list", async () => {
    const thread = await createThread([{ type: "human", id: "h1", content: PARAGRAPHS }]);
    const { page, close } = await visit(stage, { path: `/chat/${thread}` });
    await expectName(page.getByRole("heading", { level: 1, name: HEBREW }));
    await expectName(page.getByRole("link", { name: HEBREW }));
    await page.keyboard.press("Control+k");
    await expectName(page.getByRole("option", { name: HEBREW }));
    await page.goto(`${stage.server.url}/console/threads`);
    await expectName(page.getByRole("table", { name: "Threads" }).getByRole("link", { name: HEBREW }));
    await page.goto(`${stage.server.url}/console/threads/${thread}`);
    await expectName(page.getByRole("heading", { level: 1, name: HEBREW }));
    await close();
  });

  it("cuts a long title at its end", async () => {
    const thread = await createThread([], `${HEBREW} ${"ועוד ".repeat(40)}`);
    const { page, close } = await visit(stage, { path: `/chat/${thread}` });
    const title = page.getByRole("link", { name: "ועוד" }).locator("[title]");
    expect(await measure(title)).toMatchObject({ rightToLeft: true });
    await page.goto(`${stage.server.url}/console/threads`);
    const inTable = page.getByRole("table", { name: "Threads" }).getByRole("link", { name: "ועוד" });
    expect(await measure(inTable)).toMatchObject({ rightToLeft: true, right: 0 });
    await close();
  });

  it("is that of a queued message and of a decision", async () => {
    const { page, close } = await visit(stage);
    await choose(page, "agent");
    await say(page, "count to 80");
    await expectAnswer(page, " 10 ");
    await say(page, HEBREW);
    await expectName(page.getByRole("list", { name: "Queued messages" }).getByText(HEBREW));
    await expectAnswer(page, "message 2 of this conversation");
    await waitUntilSettled(page);
    await log(page).getByRole("button", { name: "Edit message" }).first().click();
    await expectField(log(page).getByRole("textbox"));

    await page.getByRole("button", { name: "New thread" }).first().click();
    await choose(page, "approval");
    await say(page, `Write to ada@example.com that ${HEBREW}`);
    const card = log(page).getByRole("region", { name: "Waiting for you" });
    await expectParagraph(card.getByText(HEBREW));
    await card.getByRole("button", { name: "Reject…" }).click();
    await expectField(card.getByRole("textbox"));
    await close();
  });

  it("is that of texts in traces, feedback, datasets, queues and the playground", async () => {
    const run = crypto.randomUUID();
    const inputs = { messages: [{ role: "user", content: PARAGRAPHS }] };
    const started = { start_time: new Date().toISOString(), end_time: new Date().toISOString() };
    const sent = { id: run, name: "support", run_type: "chain", session_name: "hebrew", inputs, ...started };
    await call("POST", "/runs/batch", { post: [{ ...sent, outputs: { answer: HEBREW } }], patch: [] });
    await call("POST", "/api/v1/feedback", { run_id: run, key: "tone", score: 1, comment: PARAGRAPHS });
    const dataset = await call<{ id: string }>("POST", "/api/v1/datasets", { name: HEBREW });
    await call("POST", "/api/v1/examples", { dataset_id: dataset.id, inputs: { question: HEBREW }, outputs: {} });
    const queue = await call<{ id: string }>("POST", "/api/v1/annotation-queues", {
      name: "hebrew",
      rubric_instructions: PARAGRAPHS,
    });
    await call("POST", `/api/v1/annotation-queues/${queue.id}/runs`, [run]);

    const { page, troubles, close } = await visit(stage, { path: `/traces/${run}` });
    const at = (path: string) => page.goto(stage.server.url + path);
    await expectParagraph(paragraphIn(page.getByRole("region", { name: "Input" })));
    await page.getByRole("button", { name: "Feedback" }).click();
    await expectParagraph(paragraphIn(page.locator("dd")));

    await at("/console/datasets");
    await expectName(page.getByRole("table").getByRole("link", { name: HEBREW }));
    await at(`/console/datasets/${dataset.id}`);
    await expectName(page.getByRole("table", { name: "Examples" }).getByText(HEBREW));

    await at(`/console/queues/${queue.id}`);
    await expectParagraph(paragraphIn(page.getByRole("region", { name: "Rubric" })));
    await expectParagraph(paragraphIn(page.getByRole("region", { name: "Input" })));
    await expectField(page.getByLabel("Comment"));

    await at("/console/playground");
    const message = page.getByLabel("Text of message 1", { exact: true });
    await expectField(message);
    expect(troubles).toEqual([]);
    await close();
  });
});
