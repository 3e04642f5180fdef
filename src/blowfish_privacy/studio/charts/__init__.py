"""Charts: functions from plain views and results to the options of an ECharts chart, which are plain dicts."""
