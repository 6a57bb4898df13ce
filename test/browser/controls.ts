/** What a person can press or fill in a view, for tests that choose at random. */
import type { Page } from "playwright-core";

export interface Control {
  /** Where a link leads, or what the control is called. */
  name: string;
  /** Its place among all elements of the selector. */
  place: number;
  /** The name of its element; "file" for one that opens a file chooser. */
  kind: string;
  /** It is in the view itself, not in the navigation. */
  isInView: boolean;
}

/** Links to views of the page. */
export const LINK = 'a[href]:not([href^="#"])';

/** The elements of a selector that can be used now: nothing behind a dialog, and no link that leaves the page. */
export const listControls = (page: Page, selector: string): Promise<Control[]> =>
  page.evaluate<Control[]>(`
    [...document.querySelectorAll(${JSON.stringify(selector)})].flatMap((control, place) => {
      if (!control.checkVisibility() || control.closest('[aria-hidden="true"]')) return [];
      if (control.disabled || control.readOnly) return [];
      const isInView = control.closest("main") !== null;
      if (!control.href) {
        const name = control.ariaLabel || control.textContent || control.placeholder || control.name || "";
        const kinds = { file: "file", checkbox: "button", radio: "button" };
        return [{ name, place, kind: kinds[control.type] ?? control.localName, isInView }];
      }
      const { origin, pathname, search } = new URL(control.href);
      const stays = origin === location.origin && !control.target && !control.hasAttribute("download");
      if (!stays || /^\\/(docs|openapi|api|reference|health)/.test(pathname)) return [];
      return [{ name: pathname + search, place, kind: "a", isInView }];
    })`);
