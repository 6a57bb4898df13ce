/** A view shows what it shows after a reload, whatever was pressed before: nothing is left of the view before it. */
import { beforeAll, describe, expect, it } from "vitest";
import { seeded } from "../support/random.ts";
import { sharedServer } from "../support/shared-server.ts";
import { chooseAmount } from "../support/thorough.ts";
import { LINK, listControls } from "./controls.ts";
import { makeOneOfEach } from "./one-of-each.ts";
import { browserHere, checkEventually, describePage, onStage, openCopy, visit } from "./page.ts";

const STEPS = chooseAmount("STEPS", 60, 600);
/** Links, tabs and headings that sort. What each leads to is in the address. */
const STEP = `${LINK}, [role="tab"], th button`;

describe.runIf(browserHere)("a walk through the page", () => {
  const stage = onStage(() => sharedServer("graphs"));
  beforeAll(() => makeOneOfEach(stage.server), 120_000);

  it(
    `shows after each of ${STEPS} random steps what a reload shows`,
    { timeout: 120_000 + STEPS * 20_000 },
    async () => {
      const random = seeded("steps of a walk");
      const { page, troubles, close } = await visit(stage, { path: "/" });
      const seen = new Set<string>();
      const told: string[] = [];
      for (let n = 0; n < STEPS; n++) {
        const steps = await listControls(page, STEP);
        // What was not pressed comes before what was.
        const fresh = steps.filter(({ name }) => !seen.has(name));
        const from = fresh.length > 0 && random.next() < 0.7 ? fresh : steps;
        if (n > 0 && (from.length === 0 || random.next() < 0.15)) {
          told.push("back");
          await page.goBack();
        } else {
          const { name, place } = from[random.between(0, from.length)]!;
          told.push(name);
          seen.add(name);
          await page.locator(STEP).nth(place).click();
        }
        const after = told.slice(-4).join(" → ");
        const reloaded = await openCopy(page);
        await checkEventually(
          () => Promise.all([page, reloaded].map((one) => describePage(one))),
          ([now, then]) => expect({ after, now }).toEqual({ after, now: then }),
          20_000,
        );
        await reloaded.close();
        expect({ after, troubles }).toEqual({ after, troubles: [] });
      }
      await close();
    },
  );
});
