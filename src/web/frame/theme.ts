/** The theme: the system's, or the one chosen. `public/theme.js` sets it before the first paint. */
import { useState } from "react";

export type Theme = "system" | "light" | "dark";

const KEY = "weir.theme";

export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState<Theme>(() => {
    const stored = localStorage.getItem(KEY);
    return stored === "light" || stored === "dark" ? stored : "system";
  });
  const choose = (next: Theme) => {
    setTheme(next);
    if (next === "system") {
      localStorage.removeItem(KEY);
      delete document.documentElement.dataset.theme;
    } else {
      localStorage.setItem(KEY, next);
      document.documentElement.dataset.theme = next;
    }
  };
  return [theme, choose];
}
