/** Weir's mark: a gauge staff and the water at it. */
export function Mark() {
  return (
    <svg width="18" height="18" viewBox="0 0 18 18" aria-hidden fill="none" strokeWidth="2">
      <path d="M4 1v16M4 3h4M4 9h6M4 15h4" stroke="currentColor" />
      <path d="M4 9v8M11.5 12.5c1.5-1.3 3-1.3 4.5 0M11.5 16c1.5-1.3 3-1.3 4.5 0" stroke="var(--water)" />
    </svg>
  );
}
