"""Charts: functions from plain views to the options of an ECharts chart. They hold no functions, only plain values."""
