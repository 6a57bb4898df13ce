/** The limits of a Durable Object's storage: SQL and key-value pairs. */
import { patch, getPrototype } from "./patch.ts";
import { recordCrossing } from "./record.ts";
import { roughBytes } from "./sizes.ts";
import { checkRow, checkStatement, VALUE } from "./statements.ts";

/** The statement of each cursor, for messages. */
const statements = new WeakMap<object, string>();

/** Makes the storage of every object of the isolate enforce the limits, given that of one. */
export function guardStorage(storage: DurableObjectStorage): void {
  patch(getPrototype(storage.sql), "exec", (exec) => {
    return function (this: unknown, statement: unknown, ...values: unknown[]) {
      checkStatement(String(statement), values);
      const cursor = exec.call(this, statement, ...values) as object;
      statements.set(cursor, String(statement));
      guardCursor(getPrototype(cursor));
      return cursor;
    };
  });
  patch(getPrototype(storage), "put", (put) => {
    return async function (this: unknown, first: unknown, ...rest: unknown[]) {
      const entries = typeof first === "string" ? [[first, rest[0]] as const] : Object.entries(first as object);
      for (const [key, value] of entries) checkPair(key, value);
      return put.call(this, first, ...rest);
    };
  });
  patch(getPrototype(storage.kv), "put", (put) => {
    return function (this: unknown, key: unknown, value: unknown) {
      checkPair(String(key), value);
      return put.call(this, key, value);
    };
  });
}

function checkPair(key: string, value: unknown): void {
  const bytes = key.length + roughBytes(value);
  if (bytes <= VALUE) return;
  throw recordCrossing("storage-value", `Key and value together are limited to ${VALUE} bytes (${key} has ${bytes}).`);
}

function guardCursor(prototype: object): void {
  patch(prototype, "toArray", (toArray) => {
    return function (this: unknown) {
      const rows = toArray.call(this) as object[];
      for (const row of rows) checkRow(row, findStatement(this));
      return rows;
    };
  });
  patch(prototype, "one", (one) => {
    return function (this: unknown) {
      const row = one.call(this) as object;
      checkRow(row, findStatement(this));
      return row;
    };
  });
  patch(prototype, "next", (next) => {
    return function (this: unknown) {
      const result = next.call(this) as IteratorResult<object, undefined>;
      if (result.value) checkRow(result.value, findStatement(this));
      return result;
    };
  });
  for (const name of ["raw", Symbol.iterator]) {
    patch(prototype, name, (iterate) => {
      return function (this: unknown) {
        return checkRows(iterate.call(this) as Iterable<object>, findStatement(this));
      };
    });
  }
}

const findStatement = (cursor: unknown): string => statements.get(cursor as object) ?? "";

function* checkRows(rows: Iterable<object>, statement: string): Generator<object, void, void> {
  for (const row of rows) {
    checkRow(row, statement);
    yield row;
  }
}
