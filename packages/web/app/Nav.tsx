/** The navigation: a link for each view, in its group, and what concerns the whole page below. */
import {
  BookOpen,
  Keyboard,
  LogOut,
  Moon,
  PanelLeftClose,
  PanelLeftOpen,
  Search,
  Sun,
  SunMoon,
  X,
  MapPin,
} from "lucide-react";
import { Link, useLocation } from "wouter";
import { useMay, useMe } from "../api/me.ts";
import { IconButton } from "../ui/Button.tsx";
import { Mark } from "./Mark.tsx";
import { loadCodeAt } from "./prefetch.ts";
import css from "./Nav.module.css";
import { useSignOut } from "./sign-out.ts";
import { chooseTheme, type Theme, useTheme } from "./theme.ts";
import { ICONS } from "./icons.ts";
import { GROUPS, type View, viewAt, VIEWS } from "./routes.ts";
import { useId } from "react";
import { useInfo } from "../api/queries.ts";
import { currentSession } from "../api/session.ts";

const NEXT: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };

/** How the palette is opened, as the keyboard of this machine has it. */
const MOD = /Mac|iP(hone|ad)/.test(navigator.platform) ? "⌘" : "Ctrl ";

export function Nav({
  range,
  onKeys,
  onPalette,
  onClose,
  rail = false,
  onRail,
}: {
  /** The part of an address that views with a time range get. */
  range: string;
  onKeys: () => void;
  onPalette: () => void;
  onClose?: () => void;
  /** It shows icons only. */
  rail?: boolean;
  /** Left out: it is a sheet, or there is no room for more than a rail. */
  onRail?: (() => void) | undefined;
}) {
  const [path] = useLocation();
  const theme = useTheme();
  const leave = useSignOut();
  const current = viewAt(path);
  const allowed = useViews();
  const { data: me } = useMe();
  return (
    <div className={css.nav}>
      <div className={css.brand}>
        <Link href="/" aria-label="Weir, start page">
          <Mark /> <span className={css.word}>Weir</span>
        </Link>
        {onClose && (
          <IconButton label="Close the menu" onClick={onClose}>
            <X size={16} aria-hidden />
          </IconButton>
        )}
      </div>
      <button
        type="button"
        className={css.find}
        title="Go to"
        aria-keyshortcuts="Control+K Meta+K"
        onClick={() => {
          onClose?.();
          onPalette();
        }}
      >
        <Search size={16} aria-hidden />
        <span className={css.word}>Go to…</span>
        <kbd className={css.word} aria-hidden>
          {MOD}K
        </kbd>
      </button>
      <div className={css.groups}>
        {GROUPS.map((group) => {
          const views = allowed.filter((view) => view.group === group);
          if (views.length === 0) return null;
          return (
            <section key={group} aria-label={group}>
              {views[0]?.name !== group && <h2 className={css.group}>{group}</h2>}
              <ul>
                {views.map((view) => (
                  <li key={view.path}>
                    <Entry view={view} range={range} current={view === current} onClose={onClose} />
                  </li>
                ))}
              </ul>
            </section>
          );
        })}
      </div>
      {!rail && <ServerLocation />}
      <div className={css.bottom}>
        {rail && <LocationButton />}
        {onRail && (
          <IconButton label={rail ? "Expand the navigation" : "Collapse the navigation"} onClick={onRail}>
            {rail ? <PanelLeftOpen size={16} aria-hidden /> : <PanelLeftClose size={16} aria-hidden />}
          </IconButton>
        )}
        <IconButton label={`Theme: ${theme}`} onClick={() => chooseTheme(NEXT[theme])}>
          {theme === "dark" ? <Moon size={16} /> : theme === "light" ? <Sun size={16} /> : <SunMoon size={16} />}
        </IconButton>
        <a
          className={css.docs}
          href="/docs/"
          target="_blank"
          rel="noopener"
          aria-label="Documentation"
          title="Documentation"
        >
          <BookOpen size={16} aria-hidden />
        </a>
        <IconButton label="Keyboard shortcuts" onClick={onKeys}>
          <Keyboard size={16} aria-hidden />
        </IconButton>
        {leave && (
          <IconButton label={me?.member ? `Sign out ${me.member.email ?? ""}`.trim() : "Sign out"} onClick={leave}>
            <LogOut size={16} aria-hidden />
          </IconButton>
        )}
      </div>
    </div>
  );
}

/** The views that the caller may use. */
export function useViews(): View[] {
  const may = useMay();
  return VIEWS.filter(({ permission }) => may(permission));
}

function Entry({
  view,
  range,
  current,
  onClose,
}: {
  view: View;
  range: string;
  current: boolean;
  onClose: (() => void) | undefined;
}) {
  const Icon = ICONS[view.icon];
  return (
    <Link
      href={view.ranged ? view.path + range : view.path}
      className={css.entry}
      title={view.name}
      aria-current={current ? "page" : undefined}
      onClick={onClose}
      onPointerEnter={() => void loadCodeAt(view.path)}
    >
      <Icon size={16} aria-hidden />
      <span className={css.word}>{view.name}</span>
    </Link>
  );
}

const LOCAL = /^(localhost|127\.0\.0\.1|\[::1\])$/;
/** Characters of a key that name it: those that the list of keys shows. */
const HINT = 12;

type LocationFields = [name: string, value: string][];

function useLocationFields(): LocationFields {
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

/** Where the page is: the workspace, who calls, the deployment, and its version. */
function ServerLocation() {
  return (
    <dl className={css.place}>
      {useLocationFields().map(([name, value]) => (
        <div key={name}>
          <dt className="visually-hidden">{name}</dt>
          <dd title={`${name}: ${value}`}>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** The same in a rail: a tooltip of a button, which opens it. */
function LocationButton() {
  const id = useId();
  const fields = useLocationFields();
  return (
    <>
      <IconButton
        label="Workspace, caller and server"
        title={fields.map((field) => field.join(": ")).join("\n")}
        popoverTarget={id}
      >
        <MapPin size={16} aria-hidden />
      </IconButton>
      <dl id={id} popover="auto" className={css.placePopover}>
        {fields.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}
