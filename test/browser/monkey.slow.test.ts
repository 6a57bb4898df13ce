/** What a user changed in one view is there in the next one: no view shows what was read before the change. */
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, it } from "vitest";
import { type Random, seeded } from "../support/random.ts";
import { sharedServer } from "../support/shared-server.ts";
import { chooseAmount } from "../support/thorough.ts";
import { LINK, listControls } from "./controls.ts";
import { makeOneOfEach } from "./one-of-each.ts";
import { browserHere, checkEventually, describePage, onStage, openCopy, visit } from "./page.ts";

const STEPS = chooseAmount("STEPS", 40, 400);
/** Buttons that a view presses at most before the next link. */
const PRESSES = 6;

/** What a person can press or fill in a view or its dialog. Not what ends the session, starts a download or opens a file chooser. */
const CONTROL =
  ":is(main, [role='dialog'], [role='alertdialog'], [role='menu']) :is(button, input, textarea, select, [role='menuitem'])";
const NEVER = /sign out|revoke|roll|attach|add images|download|copy|upload|import|run all|stop/i;

async function press(page: Page, random: Random): Promise<string> {
  // A view whose code or data is on its way has nothing to press.
  await page
    .locator(CONTROL)
    .first()
    .waitFor({ timeout: 2_000 })
    .catch(() => undefined);
  const controls = (await listControls(page, CONTROL)).filter(({ name, kind }) => kind !== "file" && !NEVER.test(name));
  const chosen = controls[random.between(0, controls.length)];
  if (chosen === undefined) return "nothing";
  const { name, place, kind } = chosen;
  const control = page.locator(CONTROL).nth(place);
  const options = { timeout: 3_000 };
  const act =
    kind === "select"
      ? control.selectOption({ index: random.between(0, await control.locator("option").count()) }, options)
      : kind === "input" || kind === "textarea"
        ? control.fill(["7", "nightly", "a b", "0 6 * * *", "https://example.com/x"][random.between(0, 5)]!, options)
        : control.click(options);
  // It may be covered, or gone by then.
  await act.catch(() => undefined);
  return `${kind} "${name.slice(0, 40)}"`;
}

/** The list of projects is read once a minute. */
const describeView = async (page: Page) =>
  (await describePage(page, "main")).filter((line) => !/^\s*- option/.test(line));

/** Presses a link, more often one of the view than one of the navigation. A dialog may open while it is looked for. */
async function leave(page: Page, random: Random): Promise<boolean> {
  for (let tries = 0; tries < 5; tries++) {
    for (const _ of ["a menu", "in a dialog", "in a view"]) await page.keyboard.press("Escape");
    const all = await listControls(page, LINK);
    const inView = all.filter(({ isInView }) => isInView);
    const links = inView.length > 0 && random.next() < 0.6 ? inView : all;
    const link = links[random.between(0, links.length)];
    const click = link && page.locator(LINK).nth(link.place).click({ timeout: 2_000 });
    if (
      await click?.then(
        () => true,
        () => false,
      )
    )
      return true;
  }
  return false;
}

/** Counts of these are read once a minute. */
const ONCE_A_MINUTE = ["/", "/console/control"];

const findSection = (page: Page) => new URL(page.url()).pathname.split("/").slice(0, 3).join("/");

describe.runIf(browserHere)("a user who presses anything", () => {
  const stage = onStage(() => sharedServer("graphs"));
  beforeAll(() => makeOneOfEach(stage.server), 120_000);

  it(`sees in ${STEPS} views what a reload shows`, { timeout: 120_000 + STEPS * 30_000 }, async () => {
    const random = seeded("presses of a user");
    const { page, troubles, close } = await visit(stage, { path: "/" });
    page.on("dialog", (dialog) => void dialog.accept());
    const told: string[] = [];
    for (let n = 0; n < STEPS; n++) {
      for (let presses = random.between(0, PRESSES + 1); presses > 0; presses--) told.push(await press(page, random));
      const before = findSection(page);
      if (!(await leave(page, random))) await page.goto(`${stage.server.url}/`);
      told.push(new URL(page.url()).pathname);
      const after = told.slice(-12).join(" → ");
      // What was pressed in this view stays as long as it is open.
      if (findSection(page) === before || ONCE_A_MINUTE.includes(findSection(page))) continue;
      const reloaded = await openCopy(page);
      const compare = () =>
        checkEventually(
          () => Promise.all([page, reloaded].map(describeView)),
          ([now, then]) => expect({ after, now }).toEqual({ after, now: then }),
          8_000,
        );
      await compare().catch(async () => {
        // A view that opens again within five seconds shows what it had read.
        await page.goBack();
        await page.goForward();
        await compare();
      });
      await reloaded.close();
      expect({ after, troubles }).toEqual({ after, troubles: [] });
    }
    await close();
  });
});
