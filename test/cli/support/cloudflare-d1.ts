/** D1 in the stand-in of Cloudflare's API: each database is one of node:sqlite, so migrations really run. */
import { randomUUID } from "node:crypto";
import { DatabaseSync, type SQLInputValue } from "node:sqlite";
import { Refusal, type Route } from "./cloudflare-route.ts";

interface Database {
  uuid: string;
  name: string;
  sqlite: DatabaseSync;
}

export class D1Databases {
  readonly #all: Database[] = [];

  readonly routes: Route[] = [
    [
      "GET",
      /^\/d1\/database$/,
      ({ query }) => {
        const name = query.get("name");
        return this.#all.filter((one) => !name || one.name.includes(name)).map(describeDatabase);
      },
    ],
    [
      "POST",
      /^\/d1\/database$/,
      async ({ request }) => {
        const { name } = await request.json<{ name: string }>();
        return describeDatabase(this.create(name));
      },
    ],
    ["GET", /^\/d1\/database\/([^/]+)$/, (_, id = "") => describeDatabase(this.#find(id))],
    [
      "POST",
      /^\/d1\/database\/([^/]+)\/query$/,
      async ({ request }, id = "") => {
        const { sql, params = [] } = await request.json<{ sql: string; params?: SQLInputValue[] }>();
        try {
          return [{ results: this.query(id, sql, params), success: true, meta: { duration: 1 } }];
        } catch (error) {
          throw new Refusal(400, 7500, error instanceof Error ? error.message : String(error));
        }
      },
    ],
  ];

  names(): string[] {
    return this.#all.map(({ name }) => name);
  }

  create(name: string): Database {
    if (this.names().includes(name)) throw new Refusal(400, 7502, "A database with that name already exists");
    const made = { uuid: randomUUID(), name, sqlite: new DatabaseSync(":memory:") };
    this.#all.push(made);
    return made;
  }

  /** Runs one statement with parameters, or several without. Only one statement gives rows. */
  query(idOrName: string, sql: string, params: SQLInputValue[] = []): unknown[] {
    const { sqlite } = this.#find(idOrName);
    if (/;\s*\S/.test(sql)) {
      sqlite.exec(sql);
      return [];
    }
    return sqlite.prepare(sql).all(...params);
  }

  close(): void {
    for (const { sqlite } of this.#all) sqlite.close();
  }

  #find(idOrName: string): Database {
    const found = this.#all.find(({ uuid, name }) => uuid === idOrName || name === idOrName);
    if (!found) throw new Refusal(404, 7404, `The database ${idOrName} could not be found`);
    return found;
  }
}

const describeDatabase = ({ uuid, name }: Database) => ({
  uuid,
  name,
  version: "production",
  created_at: "2026-11-02T00:00:00Z",
});
