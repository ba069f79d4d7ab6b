"""How things look in HTML, in the viewer and in reports alike: templates, foreign text, small pictures made of numbers."""
