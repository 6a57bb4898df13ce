/** The limits of D1. */
import { countQuery } from "./invocation.ts";
import { patch, getPrototype } from "./patch.ts";
import { checkRow, checkStatement } from "./statements.ts";

/** What a prepared statement of the runtime's D1 client holds. */
interface Prepared {
  statement: string;
  params: unknown[];
}

const ENGINE = "D1_ERROR: ";

/** Makes all D1 databases of the isolate enforce the limits, given one. */
export function guardD1(database: D1Database): void {
  const prepared = getPrototype(database.prepare("SELECT 1"));
  for (const name of ["first", "run", "all", "raw"]) {
    patch(prepared, name, (method) => {
      return async function (this: unknown, ...args: unknown[]) {
        const { statement, params } = this as Prepared;
        checkStatement(statement, params, ENGINE);
        countQuery();
        const answer = await method.apply(this, args);
        for (const row of rowsIn(answer)) checkRow(row, statement, ENGINE);
        return answer;
      };
    });
  }
  patch(getPrototype(database), "batch", (batch) => {
    return async function (this: unknown, statements: unknown) {
      for (const { statement, params } of statements as Prepared[]) checkStatement(statement, params, ENGINE);
      countQuery();
      const answers = (await batch.call(this, statements)) as D1Result[];
      for (const answer of answers) for (const row of rowsIn(answer)) checkRow(row, "a batch", ENGINE);
      return answers;
    };
  });
  patch(getPrototype(database), "exec", (exec) => {
    return async function (this: unknown, text: unknown) {
      countQuery();
      return exec.call(this, text);
    };
  });
}

/** The rows in what `all`, `run`, `raw` or `first` answers. */
function rowsIn(answer: unknown): object[] {
  if (Array.isArray(answer)) return answer as object[];
  if (typeof answer !== "object" || answer === null) return [{ answer }];
  return "results" in answer && Array.isArray(answer.results) ? (answer.results as object[]) : [answer];
}
