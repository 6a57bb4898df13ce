/** The table of routes, permissions and roles in docs/keys.md is that of the code. `WRITE_DOCS=true` writes it. */
import { readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { ROLES } from "../../src/access/auth/roles.ts";
import { permissionsOfAccess, accessOf } from "../../src/http/route.ts";
import { PERMISSIONS } from "../../src/http/principal.ts";
import { ROUTES } from "../security/routes.ts";

const FILE = `${import.meta.dirname}/../../docs/keys.md`;
const [BEGIN, END] = ["<!-- permissions: generated -->\n\n", "\n<!-- end of permissions -->"];

const shortenRoute = (route: string) => route.replace(/ \/(?:api\/)?v1(?=\/)/, " ");

function rows(): string[][] {
  const routes = new Map<string, Set<string>>();
  for (const route of Object.keys(ROUTES)) {
    const [method = "", pattern = ""] = route.split(" ");
    const path = pattern.replaceAll(/:\w+(?:\{[^}]*\})?\??/g, "x");
    const access = ROUTES[route] === "public" ? undefined : accessOf(method, path)?.access;
    if (access === undefined || access === "deployment" || access === "any") continue;
    for (const permission of permissionsOfAccess(access)) {
      routes.set(permission, (routes.get(permission) ?? new Set()).add(shortenRoute(route)));
    }
  }
  return Object.entries(PERMISSIONS).map(([permission, scope]) => {
    const roles = Object.entries(ROLES).map(([, all]) =>
      (all as readonly string[]).includes(permission) ? "yes" : "",
    );
    const own = [...(routes.get(permission) ?? [])].toSorted().map((route) => `\`${route}\``);
    return [`\`${permission}\``, scope, ...roles, own.join(", ")];
  });
}

test("the table in docs/keys.md", () => {
  const head = [
    "Permission",
    "Scope",
    ...Object.keys(ROLES),
    "Routes (also under `/api/v1` where they are of the platform)",
  ];
  const lines = [head, head.map(() => "---"), ...rows()].map((cells) => `| ${cells.join(" | ")} |`);
  const text = readFileSync(FILE, "utf8");
  const [start, end] = [text.indexOf(BEGIN) + BEGIN.length, text.indexOf(END)];
  if (process.env.WRITE_DOCS) writeFileSync(FILE, `${text.slice(0, start)}${lines.join("\n")}\n${text.slice(end)}`);
  // The formatter pads the cells.
  const toPlain = (table: string) => table.replaceAll(/ +/g, " ").replaceAll(/-{3,}/g, "---").trim();
  expect(toPlain(readFileSync(FILE, "utf8").slice(start).split(END)[0] ?? "")).toBe(toPlain(lines.join("\n")));
});
