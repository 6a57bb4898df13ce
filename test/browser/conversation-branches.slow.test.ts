/** What a conversation shows after each of many steps is what it shows after a reload. */
import type { Locator, Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { seeded } from "../support/random.ts";
import { startServer } from "../support/server.ts";
import { chooseAmount } from "../support/thorough.ts";
import {
  browserHere,
  choose,
  describePage,
  checkEventually,
  expectAnswer,
  log,
  onStage,
  openCopy,
  say,
  waitUntilSettled,
  strip,
  visit,
} from "./page.ts";

const STEPS = chooseAmount("STEPS", 17, 60);

const listQuestions = (page: Page) =>
  page.evaluate<string[]>(`
    [...document.querySelectorAll('[role="log"] article')].map(({ textContent }) => /(\\d+) \\* \\1/.exec(textContent)?.[0] ?? "")`);

/** Notes each question that the page shows, also for a moment. */
const WATCH = `(() => {
  window.questions = new Set();
  const look = () => {
    for (const turn of document.querySelectorAll('[role="log"] article, [role="log"] [role="article"]'))
      window.questions.add(/(\\d+) \\* \\1/.exec(turn.textContent)?.[0] ?? "");
  };
  new MutationObserver(look).observe(document, { subtree: true, childList: true, characterData: true });
})()`;

/** The questions that were shown since the last call. */
const takeShown = (page: Page) =>
  page.evaluate<string[]>("(() => { const all = [...window.questions]; window.questions.clear(); return all; })()");

describe.runIf(browserHere)("a conversation with abandoned branches", () => {
  const stage = onStage(() => startServer({ OFFLINE_MODEL_DELAY_MS: "5" }));

  /** A conversation in two pages, and what can be done to it. Each question has a product of its own. */
  async function converse() {
    const { page, close } = await visit(stage);
    await page.context().addInitScript(WATCH);
    await page.reload();
    await choose(page, "approval");
    await say(page, "7 * 7");
    await expectAnswer(page, 'You said: "7 * 7"');
    await waitUntilSettled(page);
    const path = new URL(page.url()).pathname;
    const mirror = await page.context().newPage();
    await mirror.goto(page.url());
    await expectAnswer(mirror, 'You said: "7 * 7"');

    let asked = 10;
    const question = () => `${(asked += 1)} * ${asked}`;
    const { url, headers } = stage.server;
    const call = async (at: string, body?: object) => {
      const answer = await fetch(`${url}/threads/${path.split("/").at(-1)}${at}`, {
        method: body ? "POST" : "GET",
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify(body),
      });
      if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
      return answer.json();
    };
    const runElsewhere = async (checkpoint_id?: string, content = question()) =>
      call("/runs/wait", {
        assistant_id: "approval",
        input: { messages: [{ role: "user", content }] },
        multitask_strategy: "enqueue",
        ...(checkpoint_id && { checkpoint_id }),
      });
    const nth = async (all: Locator, share: number) => all.nth(Math.floor(share * (await all.count())));
    const buttons = (name: string) => log(page).getByRole("button", { name });
    const ask = async (what: string) => {
      await say(page, `Write to ada@example.com that ${what}`);
      await log(page).getByRole("button", { name: "Approve send_email" }).waitFor();
    };
    /** A run that counts to 5,000 takes half a minute, and longer beside other work. */
    const stop = (one: Page) =>
      one.getByRole("form", { name: "Message" }).getByRole("button", { name: "Stop" }).click();
    /** While a run is open, both pages show the questions that a page shows which is opened now. */
    const expectSameQuestions = async () => {
      await expectAnswer(page, " 10 ");
      const fresh = await visit(stage, { path });
      await expectAnswer(fresh.page, " 10 ");
      await checkEventually(
        () => Promise.all([page, mirror, fresh.page].map(listQuestions)),
        ([one, two, reloaded]) => expect([one, two]).toEqual([reloaded, reloaded]),
        20_000,
      );
      await strip(page).getByText("Running").waitFor();
      await fresh.close();
    };
    const steps: Record<string, (share: number) => Promise<unknown>> = {
      say: () => say(page, question()),
      edit: async (share) => {
        await (await nth(buttons("Edit message"), share)).click();
        await page.getByRole("textbox", { name: "Edit message" }).fill(question());
        await page.getByRole("button", { name: "Send as new branch" }).click();
      },
      regenerate: async (share) => {
        const again = page.getByRole("button", { name: "Regenerate answer" });
        const turn = await nth(log(page).getByRole("article").filter({ has: again }), share);
        const long = (await turn.textContent())?.includes("count to 5000");
        await turn.locator(again).click();
        if (long) await stop(page);
      },
      reload: () => page.reload(),
      switch: async (share) => {
        const switches = log(page).locator('button[aria-label*=" branch, "]:enabled');
        if ((await switches.count()) > 0) await (await nth(switches, share)).click();
      },
      stop: async () => {
        await say(page, `count to 5000, ${question()}`);
        await expectAnswer(page, " 10 ");
        await stop(page);
      },
      "stop in the other page": async () => {
        await say(page, `count to 5000, ${question()}`);
        await expectSameQuestions();
        await stop(mirror);
      },
      "stop, and continue in the other page": async () => {
        await say(page, `count to 1000, ${question()}`);
        await expectAnswer(page, " 10 ");
        await stop(page);
        await strip(mirror).getByRole("button", { name: "Continue" }).click();
        await expectAnswer(page, " 1000");
      },
      "edit, and look during the run": async (share) => {
        await (await nth(buttons("Edit message"), share)).click();
        await page.getByRole("textbox", { name: "Edit message" }).fill(`count to 5000, ${question()}`);
        await page.getByRole("button", { name: "Send as new branch" }).click();
        await expectSameQuestions();
        await stop(page);
      },
      queue: async () => {
        await say(page, `count to 200, ${question()}`);
        await expectAnswer(page, " 10 ");
        await say(page, question());
      },
      approve: async () => {
        await ask(question());
        await log(page).getByRole("button", { name: "Approve send_email" }).click();
      },
      "approve in the other page": async () => {
        await ask(question());
        await log(mirror).getByRole("button", { name: "Approve send_email" }).click();
      },
      "approve elsewhere": async () => {
        await ask(question());
        const resume = { decisions: [{ type: "approve" }] };
        await call("/runs/wait", { assistant_id: "approval", command: { resume } });
      },
      "say in the other page": () => say(mirror, question()),
      elsewhere: () => runElsewhere(),
      "elsewhere, from an earlier checkpoint": async (share) => {
        const history = (await call("/history?limit=100")) as { checkpoint: { checkpoint_id: string } }[];
        await runElsewhere(history[Math.floor(share * history.length)]?.checkpoint.checkpoint_id);
      },
      // The other one is the newest state before this page's own run, which may be on another branch.
      "two at once": async () => {
        const passing = question();
        const other = runElsewhere(undefined, passing);
        await say(page, question());
        await other;
        return passing;
      },
    };
    /** Both pages show what they show after a reload: this one perhaps a branch, the other one the newest. */
    const expectAsReloaded = async (told: string, attempts = 3): Promise<void> => {
      for (const one of [page, mirror]) {
        const fresh = await openCopy(one);
        await log(fresh).getByRole("article").first().waitFor();
        const compare = checkEventually(
          () => Promise.all([one, fresh].map((tab) => describePage(tab))),
          ([now, reloaded]) => {
            expect({ told, now }).toEqual({ told, now: reloaded });
            expect(now).not.toEqual([]);
          },
          8_000,
        ).finally(() => fresh.close());
        // The text of a stopped run is kept once the state after it has been read.
        await (attempts > 1 ? compare.catch(() => expectAsReloaded(told, attempts - 1)) : compare);
      }
    };
    /** Until no message waits in a page, and no run of the thread is open on the server. */
    const waitForRest = async (): Promise<void> => {
      const queue = page.getByRole("list", { name: "Queued messages" });
      await expect.poll(() => queue.count()).toBe(0);
      await checkEventually(
        async () => ((await call("")) as { status: string }).status,
        (status) => expect(status).not.toBe("busy"),
      );
      for (const one of [page, mirror]) await waitUntilSettled(one);
      // An answer that is made again may ask again.
      const { tasks } = (await call("/state")) as { tasks: { interrupts: unknown[] }[] };
      if (tasks.every(({ interrupts }) => interrupts.length === 0)) return;
      await log(page).getByRole("button", { name: "Approve send_email" }).click();
      await waitForRest();
    };
    return { pages: [page, mirror], close, steps, waitForRest, expectAsReloaded };
  }

  it(
    `shows in two pages after each of ${STEPS} random steps what a reload shows`,
    { timeout: 60_000 + STEPS * 30_000 },
    async () => {
      const random = seeded("steps of a conversation");
      const { pages, close, steps, waitForRest, expectAsReloaded } = await converse();
      const names = Object.keys(steps);
      const told: string[] = [];
      const left: string[] = [];
      for (let n = 0; n < STEPS; n++) {
        // Each kind before any comes again.
        if (left.length === 0) left.push(...names);
        const [name = ""] = left.splice(random.between(0, left.length), 1);
        told.push(name);
        const before = await Promise.all(pages.map(listQuestions));
        await Promise.all(pages.map(takeShown));
        let passing: unknown;
        try {
          passing = await steps[name]?.(random.next());
          await waitForRest();
        } catch (cause) {
          throw new Error(`After ${told.join(" → ")}`, { cause });
        }
        await expectAsReloaded(told.join(" → "));
        const after = await Promise.all(pages.map(listQuestions));
        for (const [i, page] of pages.entries()) {
          // A question of another branch is not shown, not even until the state has been read.
          const known = [...(before[i] ?? []), ...(after[i] ?? []), passing];
          const others = (await takeShown(page)).filter((question) => !known.includes(question));
          expect({ after: told.join(" → "), page: i, others }).toEqual({
            after: told.join(" → "),
            page: i,
            others: [],
          });
        }
      }
      await close();
    },
  );
});
