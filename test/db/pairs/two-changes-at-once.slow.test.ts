/**
 * Two changes of one thing at once leave what one after the other leaves, in one of the two orders. One of them may make or delete
 * what belongs to the thing. The reference is the server itself: two twins of the thing get the changes in turn.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { SOAK } from "../../support/thorough.ts";
import { KINDS } from "./kinds.ts";
import { PARENTS } from "./parents.ts";
import { call, type Change, type Kind, prepareWorkspace } from "./workspace.ts";

beforeAll(prepareWorkspace);

/** Milliseconds. */
const DELAYS = SOAK ? [0, 0, 1, 1, 2, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30] : [0, 3];

let count = 0;

/** The elements of a list, or of the lists of an object's members, that name the thing. */
function filterById(body: unknown, id: string): unknown {
  if (Array.isArray(body)) return body.filter((one) => JSON.stringify(one).includes(id));
  return body;
}

/** What is shown of a thing, without what differs between twins: ids, times and the number in its name. */
async function look(kind: Kind, id: string): Promise<string> {
  const shown = await Promise.all(
    kind.reads(id).map(async (path) => {
      const isSearch = path.endsWith("/search");
      const { status, body } = await call(isSearch ? "POST" : "GET", path, isSearch ? { limit: 1000 } : undefined);
      return { status, body: filterById(body, id) };
    }),
  );
  return JSON.stringify(shown, null, 1)
    .replaceAll(id, "ID")
    .replaceAll(/[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/g, "UUID")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)/g, "TIME")
    .replaceAll(/weir_key_\w+|[\da-f]{40,64}/g, "HASH")
    .replaceAll(
      /(project|dataset|parent|examples|queue|prompt|tagged|key|alert|person|role|destination|p)[ -]?\d+/g,
      "$1 N",
    );
}

describe.each(Object.entries({ ...KINDS, ...PARENTS }))("%s", (_name, kind) => {
  const names = Object.keys(kind.changes("x"));
  const pairs = names.flatMap((a, i) => names.slice(i).map((b) => [a, b] as const));
  it.each(pairs)("%s and %s", async (a, b) => {
    const make = () => kind.make((count += 1));
    const apply = (id: string, name: string) => call(...(kind.changes(id)[name] as Change));
    const applyInTurn = async (first: string, second: string) => {
      const id = await make();
      await apply(id, first);
      await apply(id, second);
      return look(kind, id);
    };
    const either = [await applyInTurn(a, b), await applyInTurn(b, a)];
    // The second begins at another step of the first each time.
    for (const delay of DELAYS) {
      const id = await make();
      await Promise.all([apply(id, a), scheduler.wait(delay).then(() => apply(id, b))]);
      expect(either).toContain(await look(kind, id));
    }
  });
});
