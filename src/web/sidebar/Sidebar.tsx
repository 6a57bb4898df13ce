import { Keyboard, ListTree, LogOut, Moon, Plus, Sun, SunMoon, X } from "lucide-react";
import { useMemo, useState } from "react";
import { Link, useLocation, useRoute } from "wouter";
import { queryClient, useThreads } from "../api/queries.ts";
import { signOut } from "../api/oauth.ts";
import { currentSession } from "../api/session.ts";
import { type Theme, useTheme } from "../frame/theme.ts";
import controls from "../ui/controls.module.css";
import { IconButton } from "../ui/IconButton.tsx";
import { LinkButton } from "../ui/LinkButton.tsx";
import { Mark } from "../ui/Mark.tsx";
import { groupsOf, titleOf } from "./groups.ts";
import css from "./Sidebar.module.css";
import { ThreadLink } from "./ThreadLink.tsx";

const NEXT: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };

export function Sidebar({ onKeys, onClose }: { onKeys: () => void; onClose?: () => void }) {
  const threads = useThreads(true);
  const [search, setSearch] = useState("");
  const [path, navigate] = useLocation();
  const [, params] = useRoute("/chat/:threadId");
  const [theme, setTheme] = useTheme();
  const rows = useMemo(() => threads.data?.pages.flat() ?? [], [threads.data]);
  const found = useMemo(() => {
    const words = search.trim().toLowerCase();
    return words === "" ? rows : rows.filter((row) => titleOf(row).toLowerCase().includes(words));
  }, [rows, search]);
  const groups = useMemo(() => groupsOf(found), [found]);

  return (
    <div className={css.side}>
      <div className={css.brand}>
        <Link href="/" aria-label="Weir, new thread">
          <Mark /> Weir
        </Link>
        {onClose && (
          <IconButton label="Close the threads" onClick={onClose}>
            <X size={16} aria-hidden />
          </IconButton>
        )}
      </div>
      <div className={css.top}>
        <button
          type="button"
          className={css.fresh}
          onClick={() => {
            navigate("/");
            onClose?.();
          }}
        >
          <Plus size={16} aria-hidden /> New thread
        </button>
        <Link href="/traces" className={css.traces} aria-current={path.startsWith("/traces") ? "page" : undefined}>
          <ListTree size={16} aria-hidden /> Traces
        </Link>
        <input
          type="search"
          className={controls.field}
          placeholder="Search threads"
          aria-label="Search threads"
          value={search}
          onChange={(event) => setSearch(event.target.value)}
        />
      </div>
      <div className={css.list}>
        {threads.isPending && <Skeleton />}
        {threads.error && !threads.data && <p className={css.note}>The list did not load. {threads.error.message}</p>}
        {threads.data && rows.length === 0 && <p className={css.note}>No threads yet. What you send starts one.</p>}
        {rows.length > 0 && found.length === 0 && (
          <p className={css.note}>
            No thread matches. <LinkButton onClick={() => setSearch("")}>Clear the search</LinkButton>
          </p>
        )}
        {groups.map((group) => (
          <section key={group.name} aria-label={group.name}>
            <h2 className={css.group}>{group.name}</h2>
            <ul>
              {group.threads.map((thread) => (
                <ThreadLink key={thread.thread_id} thread={thread} current={params?.threadId === thread.thread_id} />
              ))}
            </ul>
          </section>
        ))}
        {threads.hasNextPage && (
          <button
            type="button"
            className={css.more}
            disabled={threads.isFetchingNextPage}
            onClick={() => void threads.fetchNextPage()}
          >
            Show more
          </button>
        )}
      </div>
      <div className={css.bottom}>
        <IconButton label={`Theme: ${theme}`} onClick={() => setTheme(NEXT[theme])}>
          {theme === "dark" ? <Moon size={16} /> : theme === "light" ? <Sun size={16} /> : <SunMoon size={16} />}
        </IconButton>
        <IconButton label="Keys" onClick={onKeys}>
          <Keyboard size={16} aria-hidden />
        </IconButton>
        {currentSession() && (
          <IconButton
            label="Sign out"
            onClick={() => {
              // A server that does not hear of it ends the tokens by itself.
              signOut().catch(() => {});
              navigate("/");
              void queryClient.resetQueries();
            }}
          >
            <LogOut size={16} aria-hidden />
          </IconButton>
        )}
      </div>
    </div>
  );
}

function Skeleton() {
  return (
    <div className={css.skeleton} role="status" aria-label="Loading the threads">
      {[82, 64, 74, 58, 70].map((width) => (
        <i key={width} style={{ width: `${width}%` }} />
      ))}
    </div>
  );
}
