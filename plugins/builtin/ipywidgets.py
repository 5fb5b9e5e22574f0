"""Widgets of ipywidgets as text: bars, sliders, boxes and what is in them, and what of them can be operated."""

from oi_tui.plugins.api import hookimpl


@hookimpl
def register_widget_views() -> dict[str, str]:
    """What draws them is imported for the first one."""
    return {model: f"oi_tui.plugins.builtin.ipywidgets_drawing:{function}" for model, function in _FUNCTIONS.items()}


_FUNCTIONS = {
    **dict.fromkeys(("HBoxModel", "VBoxModel", "BoxModel", "GridBoxModel"), "box_view"),
    **dict.fromkeys(("TabModel", "AccordionModel", "StackModel"), "tab_view"),
    **dict.fromkeys(("IntProgressModel", "FloatProgressModel"), "progress_view"),
    **dict.fromkeys(("IntSliderModel", "FloatSliderModel", "FloatLogSliderModel"), "slider_view"),
    **dict.fromkeys(("IntRangeSliderModel", "FloatRangeSliderModel"), "slider_view"),
    **dict.fromkeys(("IntTextModel", "BoundedIntTextModel", "PlayModel"), "number_view"),
    **dict.fromkeys(("FloatTextModel", "BoundedFloatTextModel"), "number_view"),
    **dict.fromkeys(("DropdownModel", "SelectModel", "RadioButtonsModel"), "choice_view"),
    **dict.fromkeys(("ToggleButtonsModel", "SelectionSliderModel"), "choice_view"),
    "SelectMultipleModel": "several_view",
    "SelectionRangeSliderModel": "option_range_view",
    **dict.fromkeys(("TextModel", "TextareaModel", "ComboboxModel", "ColorPickerModel"), "text_view"),
    "PasswordModel": "password_view",
    **dict.fromkeys(("CheckboxModel", "ToggleButtonModel"), "toggle_view"),
    "ValidModel": "mark_view",
    "ButtonModel": "button_view",
    "DatePickerModel": "date_view",
    "TimeModel": "time_view",
    **dict.fromkeys(("DatetimeModel", "NaiveDatetimeModel"), "datetime_view"),
    **dict.fromkeys(("HTMLModel", "HTMLMathModel"), "html_view"),
    "LabelModel": "label_view",
    **dict.fromkeys(("OutputModel", "LinkModel", "DirectionalLinkModel"), "nothing_view"),
}
"""Model of a widget to what draws it."""
