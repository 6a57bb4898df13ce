/** Where the page is: the workspace, who calls, the deployment, and its version. */
import { useMe } from "../api/me.ts";
import { useInfo } from "../api/queries.ts";
import { currentSession } from "../api/session.ts";
import css from "./Nav.module.css";

const LOCAL = /^(localhost|127\.0\.0\.1|\[::1\])$/;
/** Characters of a key that name it: those that the list of keys shows. */
const HINT = 12;

export function Place() {
  const { data: me } = useMe();
  const { data: info } = useInfo();
  const session = currentSession();
  const caller =
    me?.member?.email ??
    me?.member?.subject ??
    (session?.kind === "key"
      ? `key ${session.secret.slice(0, HINT)}…`
      : session
        ? "signed in by OAuth"
        : "no key needed");
  const environment = LOCAL.test(location.hostname) ? "local" : location.hostname;
  const facts: [string, string][] = [
    ["Workspace", me?.workspace.name ?? me?.workspace.id ?? ""],
    ["Signed in", me?.role ? `${caller} · ${me.role}` : caller],
    ["Server", info ? `${environment} · ${info.weir_version}` : environment],
  ];
  return (
    <dl className={css.place}>
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt className="visually-hidden">{name}</dt>
          <dd title={`${name}: ${value}`}>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
