"""HTML shared by the viewer and the report files: templates, styles, escaping and SVG charts."""
