/** The shape that all pages of the console share: title, purpose, actions, tools, the list, and an aside. */
import { Menu, ChevronLeft } from "lucide-react";
import { type ReactNode, useEffect } from "react";
import { useFrame, useTitle } from "../app/view-props.ts";
import { IconButton } from "../ui/Button.tsx";
import css from "./page.module.css";
import { Link } from "wouter";
import controls from "../ui/controls.module.css";

export function Page({
  title,
  purpose,
  back,
  actions,
  tools,
  aside,
  whole = false,
  children,
}: {
  title: string;
  /** One line: what a person does here. */
  purpose?: string;
  /** The way to the list that this item is of. */
  back?: ReactNode;
  /** At the right of the title. */
  actions?: ReactNode;
  /** The row above the list: search, filters. */
  tools?: ReactNode;
  /** How to use what is listed: folded, below the list. */
  aside?: ReactNode;
  /** The parts of the content scroll independently. */
  whole?: boolean;
  children: ReactNode;
}) {
  const frame = useFrame();
  useTitle(title);
  useEffect(() => {
    // The skip link was used while the view was still loading: what it had focused is gone.
    if (location.hash === "#content" && document.activeElement === document.body)
      document.getElementById("content")?.focus();
  }, []);
  return (
    <main className={css.page}>
      <header className={css.header}>
        {frame.narrow && (
          <IconButton label="Open the menu" onClick={frame.toggle}>
            <Menu size={16} aria-hidden />
          </IconButton>
        )}
        {back}
        <div className={css.heading}>
          <h1 className="line" title={title}>
            {title}
          </h1>
          {purpose && <p className="line">{purpose}</p>}
        </div>
        {actions && <div className={css.actions}>{actions}</div>}
      </header>
      {tools && <div className={css.tools}>{tools}</div>}
      {whole ? (
        <div className={css.whole} id="content" tabIndex={-1}>
          {children}
        </div>
      ) : (
        <div className={css.body} id="content" tabIndex={-1}>
          <div className={css.columns}>
            <div className={css.list}>{children}</div>
            {aside && (
              <details className={css.aside}>
                <summary>Help and API</summary>
                <div>{aside}</div>
              </details>
            )}
          </div>
        </div>
      )}
    </main>
  );
}

/** The link from an item to the list that it is of. On a phone the name is for screen readers only: the title needs the width. */
export function Back({ href, name }: { href: string; name: string }) {
  return (
    <Link href={href} className={`${controls.button} ${controls.quiet} ${css.back}`} aria-label={name}>
      <ChevronLeft size={14} aria-hidden /> <span>{name}</span>
    </Link>
  );
}
