"""How the studio looks: one style sheet, a few colours that keep their contrast, nothing from elsewhere."""

from __future__ import annotations

COLOURS = {"primary": "#1a5f9e", "secondary": "#3d4a5c", "accent": "#b3541e", "positive": "#1b7f4b"} | {
    "negative": "#b3261e",
    "warning": "#9a5b00",
    "info": "#1a5f9e",
}
"""Quasar's names of colours; each has a contrast of at least 4.5 to white."""

STYLE = """
:root { --ink: #1f2733; --quiet: #566070; --line: #d9dee6; --paper: #ffffff; --ground: #f5f7fa; }
body { background: var(--ground); color: var(--ink); }
.nicegui-content { padding: 0; }
.studio-room { width: 100%; max-width: 1080px; margin: 0 auto; padding: 28px 28px 80px; gap: 20px; }
.studio-title { font-size: 1.65rem; line-height: 1.25; font-weight: 600; margin: 0; }
.studio-lead { color: var(--quiet); font-size: 1.02rem; max-width: 46rem; }
.studio-section { font-size: 1.15rem; line-height: 1.3; font-weight: 600; margin: 8px 0 0; }
.studio-note { color: var(--quiet); font-size: 0.875rem; }
.studio-card { width: 100%; background: var(--paper); border: 1px solid var(--line); border-radius: 10px;
  padding: 18px 20px; gap: 12px; box-shadow: none; }
.studio-notice, .studio-problem { width: 100%; border-radius: 8px; padding: 10px 14px; gap: 10px; flex-wrap: nowrap;
  align-items: flex-start; border: 1px solid; }
.studio-notice { background: #eef4fb; border-color: #c3d7ec; }
.studio-problem { background: #fdf0ef; border-color: #eac1be; }
.studio-notice .q-icon { color: #1a5f9e; font-size: 1.25rem; margin-top: 1px; }
.studio-problem .q-icon { color: #b3261e; font-size: 1.25rem; margin-top: 1px; }
.studio-stale { opacity: 0.45; transition: opacity 0.15s; }
.studio-header { background: var(--paper); color: var(--ink); border-bottom: 1px solid var(--line); box-shadow: none;
  padding: 6px 14px; gap: 10px; min-height: 52px; flex-wrap: nowrap; }
.studio-name { font-weight: 600; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.studio-nav a { display: flex; gap: 12px; align-items: center; padding: 9px 14px; border-radius: 8px; color: var(--ink);
  text-decoration: none; }
.studio-nav a:hover { background: #eef1f5; }
.studio-nav a[aria-current=page] { background: #e3edf7; color: #12487a; font-weight: 600; }
.studio-nav .q-icon { font-size: 1.3rem; }
.studio-editor { width: 100%; flex: 1 1 auto; min-height: 0; border: 1px solid var(--line); border-radius: 8px;
  overflow: hidden; background: var(--paper); font-size: 0.82rem; }
.studio-editor .cm-editor { height: 100%; }
.studio-wrong-line { background: #fbdcd9 !important; box-shadow: inset 3px 0 #b3261e; }
.studio-wrong-line span { color: var(--ink) !important; }
.studio-onward { display: inline-flex; gap: 8px; align-items: center; align-self: flex-end; padding: 8px 4px;
  color: #1a5f9e; font-weight: 500; text-decoration: none; }
.studio-onward:hover { text-decoration: underline; }
.studio-table { border-collapse: collapse; width: 100%; font-size: 0.9rem; }
.studio-table th { text-align: left; font-weight: 600; color: var(--quiet); }
.studio-table th, .studio-table td { padding: 7px 18px 7px 0; border-bottom: 1px solid var(--line);
  vertical-align: top; }
.studio-table caption { text-align: left; color: var(--quiet); padding-bottom: 6px; }
.studio-scroll { width: 100%; overflow-x: auto; flex: none; }
a:focus-visible, button:focus-visible, .q-btn:focus-visible, [tabindex]:focus-visible {
  outline: 3px solid #1a5f9e; outline-offset: 2px; }
.q-field__label { color: var(--quiet); }
@media (max-width: 700px) { .studio-room { padding: 18px 14px 60px; } }
@media (prefers-reduced-motion: reduce) { * { transition: none !important; animation: none !important; } }
"""
