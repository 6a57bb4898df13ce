/** Where the page is: the workspace, who calls, the deployment, and its version. */
import { MapPin } from "lucide-react";
import { useId } from "react";
import { useMe } from "../api/me.ts";
import { useInfo } from "../api/queries.ts";
import { currentSession } from "../api/session.ts";
import { IconButton } from "../ui/IconButton.tsx";
import css from "./Nav.module.css";

const LOCAL = /^(localhost|127\.0\.0\.1|\[::1\])$/;
/** Characters of a key that name it: those that the list of keys shows. */
const HINT = 12;

type Facts = [name: string, value: string][];

function useFacts(): Facts {
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
  return [
    ["Workspace", me?.workspace.name ?? me?.workspace.id ?? ""],
    ["Signed in", me?.role ? `${caller} · ${me.role}` : caller],
    ["Server", info ? `${environment} · ${info.weir_version}` : environment],
  ];
}

export function Place() {
  return (
    <dl className={css.place}>
      {useFacts().map(([name, value]) => (
        <div key={name}>
          <dt className="visually-hidden">{name}</dt>
          <dd title={`${name}: ${value}`}>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** The same in a rail: a tooltip of a button, which opens it. */
export function PlaceButton() {
  const id = useId();
  const facts = useFacts();
  return (
    <>
      <IconButton
        label="Workspace, caller and server"
        title={facts.map((fact) => fact.join(": ")).join("\n")}
        popoverTarget={id}
      >
        <MapPin size={16} aria-hidden />
      </IconButton>
      <dl id={id} popover="auto" className={css.placePopover}>
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}
