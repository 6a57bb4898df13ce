/** The default theme with the reader's own fonts, and the colours of code. */
import DefaultTheme from "vitepress/theme-without-fonts";
import "./style.css";

export default DefaultTheme;
