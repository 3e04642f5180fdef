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
.nicegui-link { color: #1a5f9e; }
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
.studio-more { background:
    linear-gradient(var(--paper) 40%, transparent) top / 100% 40px no-repeat local,
    linear-gradient(transparent, var(--paper) 60%) bottom / 100% 40px no-repeat local,
    linear-gradient(#c3cad4, transparent) top / 100% 12px no-repeat scroll,
    linear-gradient(transparent, #c3cad4) bottom / 100% 12px no-repeat scroll; }
.studio-acting tr > :last-child { position: sticky; right: 0; background: var(--paper); padding: 7px 0 7px 10px; }
.studio-scroll { width: 100%; overflow-x: auto; flex: none; }
a:focus-visible, button:focus-visible, .q-btn:focus-visible, [tabindex]:focus-visible {
  outline: 3px solid #1a5f9e; outline-offset: 2px; }
.studio-halves { display: grid; grid-template-columns: 1fr 1fr; gap: 16px; width: 100%; }
.studio-card-halves { display: grid; grid-template-columns: minmax(15rem, 2fr) minmax(0, 3fr); gap: 28px; width: 100%; }
.studio-expansion { width: 100%; background: var(--paper); border: 1px solid var(--line); border-radius: 10px; }
.studio-expansion > .q-expansion-item__container > .q-item { padding: 12px 20px; border-radius: 10px; gap: 12px;
  align-items: center; }
.studio-expansion .q-expansion-item__content { padding: 4px 20px 20px; }
.studio-stack { display: flex; flex-direction: column; gap: 16px; width: 100%; }
.studio-radio { margin-left: -8px; }
.studio-radio .q-radio__label { line-height: 1.3; padding: 3px 0; }
.studio-chip { background: #e3edf7; color: #12487a; border-radius: 14px; padding: 3px 12px; font-size: 0.85rem;
  white-space: nowrap; }
.studio-boxes { display: grid; grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr)); gap: 10px; width: 100%; }
.studio-box { border: 1px solid var(--line); border-radius: 8px; padding: 8px; gap: 6px; background: var(--ground); }
.studio-box-new { border-style: dashed; background: var(--paper); }
.studio-chips { width: 100%; min-height: 34px; gap: 6px; }
.studio-chips .studio-chip { cursor: grab; }
.studio-block { border: 1px solid var(--line); border-radius: 8px; padding: 2px 4px 2px 12px; min-height: 36px; }
.studio-odds { width: 100%; padding: 4px 0 0; }
.studio-odds-line { position: relative; height: 14px; border-radius: 7px; background: #e8ebf0; overflow: hidden; }
.studio-odds-range { position: absolute; top: 0; bottom: 0; background: #1a5f9e; }
.studio-odds-open { background: repeating-linear-gradient(45deg, #b3261e 0 6px, #d98984 6px 12px); }
.studio-odds-before { position: absolute; top: 0; bottom: 0; width: 3px; margin-left: -1px; background: #ffffff; }
.studio-odds-scale { display: grid; grid-template-columns: 1fr auto 1fr; padding-top: 3px; font-size: 0.8rem;
  color: var(--quiet); }
.studio-odds-scale > :last-child { text-align: right; }
.q-notification__actions { color: #ffffff !important; }
.studio-break { overflow-wrap: anywhere; }
.studio-columns { list-style: none; margin: 0; padding: 0; width: 100%; }
.studio-columns li { display: grid; grid-template-columns: minmax(8rem, 2fr) minmax(0, 3fr) 8rem; gap: 4px 20px;
  align-items: center; padding: 10px 0; border-top: 1px solid var(--line); }
.studio-columns li > :last-child { justify-self: end; }
.studio-warning { color: #9a5b00; font-size: 0.875rem; }
.studio-dialog { width: 34rem; max-width: 100%; }
.studio-browser { width: 40rem; max-width: 100%; flex-wrap: nowrap; }
.studio-files { width: 100%; gap: 0; overflow-y: auto; max-height: 50vh; flex-wrap: nowrap;
  border: 1px solid var(--line); border-radius: 8px; padding: 6px; }
.q-field__label { color: var(--quiet); }
@media (max-width: 900px) { .studio-halves, .studio-card-halves { grid-template-columns: minmax(0, 1fr); } }
@media (max-width: 700px) { .studio-columns li { grid-template-columns: minmax(0, 1fr) auto; }
  .studio-columns li > :nth-child(2) { grid-column: 1; grid-row: 2; } }
@media (max-width: 700px) { .studio-acting tr > :last-child { box-shadow: inset 2px 0 var(--line); } }
@media (max-width: 700px) { .studio-room { padding: 18px 14px 60px; } }
@media (prefers-reduced-motion: reduce) { * { transition: none !important; animation: none !important; } }
"""
