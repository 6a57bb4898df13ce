/** Every route says in /openapi.json what it answers, so that tests compare its answers with that. */
import { expect, it } from "vitest";
import { send } from "../support/caller.ts";
import type { OpenApi } from "../support/answers/document.ts";
import { UNDESCRIBED } from "./undescribed.ts";

/** Statuses of answers that have no body of their own. */
const EMPTY = /^(?:101|202|204|30\d)$/;

it("every route has the shape of its answer, or a reason why it has none", async () => {
  const { paths } = await (await send("/openapi.json")).json<OpenApi>();
  const without = Object.entries(paths).flatMap(([path, operations]) => {
    const short = path.replace(/^\/api(?:\/v[12])?(?=\/)/, "").replace(/^\/v1(?=\/platform\/)/, "");
    return Object.entries(operations).flatMap(([method, { responses }]) => {
      const succeeds = Object.entries(responses).filter(([status]) => /^[123]/.test(status));
      const isDescribed = succeeds.some(([status, { content }]) => content !== undefined || EMPTY.test(status));
      return isDescribed ? [] : [`${method.toUpperCase()} ${short}`];
    });
  });
  expect([...new Set(without)].toSorted()).toEqual(Object.keys(UNDESCRIBED).toSorted());
});
