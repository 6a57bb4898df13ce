/** What a conversation shows after each of many steps is what it shows after a reload. */
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { seeded } from "../support/random.ts";
import { startServer } from "../support/server.ts";
import { chooseAmount } from "../support/thorough.ts";
import {
  answers,
  browserHere,
  choose,
  checkEventually,
  expectAnswer,
  log,
  onStage,
  say,
  waitUntilSettled,
  visit,
} from "./page.ts";

const STEPS = chooseAmount("STEPS", 8, 60);

/** The question of each turn, and the answers. Times, branches and buttons follow later. */
const turns = async (page: Page) => ({
  asked: (await log(page).getByRole("article").allTextContents()).map((text) => /(\d+) \* \1/.exec(text)?.[0]),
  answered: await answers(page).allTextContents(),
});

/** Notes each question that the page shows, also for a moment. */
const WATCH = `(() => {
  window.questions = new Set();
  const look = () => {
    for (const turn of document.querySelectorAll('[role="log"] article, [role="log"] [role="article"]'))
      window.questions.add(/(\\d+) \\* \\1/.exec(turn.textContent)?.[0]);
  };
  new MutationObserver(look).observe(document, { subtree: true, childList: true, characterData: true });
})()`;

/** The questions that were shown since the last call. */
const takeShown = (page: Page) =>
  page.evaluate<string[]>("(() => { const all = [...window.questions]; window.questions.clear(); return all; })()");

describe.runIf(browserHere)("a conversation with abandoned branches", () => {
  const stage = onStage(() => startServer({ OFFLINE_MODEL_DELAY_MS: "5" }));

  /** A conversation in the page, and what can be done to it. Each question has a product of its own. */
  async function converse() {
    const { page, close } = await visit(stage);
    await page.addInitScript(WATCH);
    await page.reload();
    await choose(page, "agent");
    let asked = 10;
    const question = () => `${(asked += 1)} * ${asked}`;
    const path = () => new URL(page.url()).pathname;
    const readThreadId = () => path().split("/").at(-1) ?? "";
    const { url, headers } = stage.server;
    const call = async (at: string, body?: object) => {
      const answer = await fetch(`${url}/threads/${readThreadId()}${at}`, {
        method: body ? "POST" : "GET",
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
      return answer.json();
    };
    const runElsewhere = async (checkpoint_id?: string) =>
      call("/runs/wait", {
        assistant_id: "agent",
        input: { messages: [{ role: "user", content: question() }] },
        multitask_strategy: "enqueue",
        ...(checkpoint_id && { checkpoint_id }),
      });
    const turnAt = (share: number) => async () => {
      const all = log(page).getByRole("article");
      return all.nth(Math.floor(share * (await all.count())));
    };
    const steps: Record<string, (share: number) => Promise<unknown>> = {
      say: () => say(page, question()),
      edit: async (share) => {
        const turn = await turnAt(share)();
        await turn.getByRole("button", { name: "Edit message" }).click();
        await page.getByRole("textbox", { name: "Edit message" }).fill(question());
        await page.getByRole("button", { name: "Send as new branch" }).click();
      },
      regenerate: async (share) => (await turnAt(share)()).getByRole("button", { name: "Regenerate answer" }).click(),
      reload: () => page.reload(),
      elsewhere: () => runElsewhere(),
      "elsewhere, from an earlier checkpoint": async (share) => {
        const history = (await call("/history?limit=100")) as { checkpoint: { checkpoint_id: string } }[];
        await runElsewhere(history[Math.floor(share * history.length)]?.checkpoint.checkpoint_id);
      },
      "two at once": async () => {
        const other = runElsewhere();
        await say(page, question());
        await other;
      },
    };
    const expectAsReloaded = async (told: string) => {
      const fresh = await visit(stage, { path: path() });
      await answers(fresh.page).first().waitFor();
      await waitUntilSettled(fresh.page);
      await checkEventually(
        async () => [await turns(page), await turns(fresh.page)],
        ([now, reloaded]) => {
          expect({ told, ...now }).toEqual({ told, ...reloaded });
          expect(now?.answered.length).toBeGreaterThan(0);
        },
        20_000,
      );
      await fresh.close();
    };
    /** Until no run of the thread is open, on the server. */
    const waitForRest = () =>
      checkEventually(
        async () => ((await call("")) as { status: string }).status,
        (status) => expect(status).toBe("idle"),
      );
    return { page, close, steps, waitForRest, expectAsReloaded };
  }

  it(
    `shows after each of ${STEPS} random steps what a reload shows`,
    { timeout: 60_000 + STEPS * 20_000 },
    async () => {
      const random = seeded("steps of a conversation");
      const { page, close, steps, waitForRest, expectAsReloaded } = await converse();
      await say(page, "7 * 7");
      await expectAnswer(page, "49");
      await waitUntilSettled(page);
      const names = Object.keys(steps);
      const told: string[] = [];
      for (let n = 0; n < STEPS; n++) {
        const name = names[random.between(0, names.length)] ?? "";
        told.push(name);
        const before = (await turns(page)).asked;
        await takeShown(page);
        await steps[name]?.(random.next());
        await waitForRest();
        await waitUntilSettled(page);
        await expectAsReloaded(told.join(" → "));
        const known = [...before, ...(await turns(page)).asked];
        // A question of another branch is not shown, not even until the state has been read.
        const others = (await takeShown(page)).filter((question) => !known.includes(question));
        expect({ told, others }).toEqual({ told, others: [] });
      }
      await close();
    },
  );
});
