/** The columns that fit a box of this width, in pixels: those that are kept, and of the others the first that have room. */
export function fitting<C extends { width: number; kept?: boolean }>(columns: C[], width: number): C[] {
  let left = width - columns.reduce((sum, column) => sum + (column.kept ? column.width : 0), 0);
  let full = false;
  return columns.filter((column) => {
    if (column.kept) return true;
    full ||= left < column.width;
    left -= column.width;
    return !full;
  });
}
